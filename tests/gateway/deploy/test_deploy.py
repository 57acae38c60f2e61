"""Image, units and dashboard: held to by their own programs, or read as those would."""

import json
import os
import re
import shutil
import sys
import tomllib
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from gateway import deploy
from gateway.faults import ReplacedFault
from gateway.service.operate.metrics import Metrics
from gateway.settings.config import load_deployment, make_sample
from tests import processes

HERE = Path(deploy.__file__).parent
ROOT = HERE.parents[1]
UID = 10001
Step = tuple[str, str]


def stages() -> list[list[Step]]:
    """Return the instructions of the Dockerfile, stage by stage."""
    text = re.sub(r"^\s*#.*\n", "", (HERE / "Dockerfile").read_text(), flags=re.M)
    found: list[list[Step]] = []
    for line in re.sub(r"\\\n\s*", " ", text).splitlines():
        if not line.strip():
            continue
        word, _, rest = line.partition(" ")
        if word == "FROM":
            found.append([])
        found[-1].append((word, rest.strip()))
    return found


def of(stage: list[Step], word: str) -> list[str]:
    """Return what an instruction says in a stage, each time."""
    return [rest for name, rest in stage if name == word]


def test_it_runs_as_a_user_without_rights_and_with_a_check() -> None:
    """The number, not a name: an engine that forbids root must see that it is none."""
    _, last = stages()

    assert of(last, "USER") == [f"{UID}:{UID}"]
    after = [word for word, _ in last[last.index(("USER", f"{UID}:{UID}")) :]]
    assert "RUN" not in after
    assert "COPY" not in after
    (check,) = of(last, "HEALTHCHECK")
    assert json.loads(check.partition("CMD ")[2])[:2] == ["heatveil", "health"]
    assert json.loads(of(last, "ENTRYPOINT")[0]) == ["heatveil"]
    assert json.loads(of(last, "CMD")[0])[:2] == ["serve", "--hold"]
    assert of(last, "STOPSIGNAL") == ["SIGTERM"]


def ignored(path: str) -> bool:
    """Return whether a file of the checkout is kept from the build, by the last rule that fits."""
    found = False
    for rule in (HERE / "Dockerfile.dockerignore").read_text().splitlines():
        if not rule or rule.startswith("#"):
            continue
        bare = rule.removeprefix("!")
        deep = bare.startswith("**/")
        names = path.split("/") if deep else [path.split("/")[0]]
        if any(fnmatch(name, bare.removeprefix("**/")) for name in names):
            found = not rule.startswith("!")
    return found


def test_everything_that_is_copied_is_there_and_comes_to_the_build() -> None:
    """A COPY of what is not there, or of what .dockerignore keeps back, ends the build."""
    build, _ = stages()
    copied = [word for one in of(build, "COPY") for word in one.split()[:-1]]

    assert len(copied) > 5
    for source in copied:
        assert (ROOT / source).exists(), source
        assert not ignored(source), source
    for package in ("heatveil", "edge", "physics", "recovery", "gateway"):
        kept = [one for one in (ROOT / package).rglob("*") if one.is_file()]
        needed = [one for one in kept if one.suffix not in (".pyc", ".nbi", ".nbc")]
        lost = [str(one) for one in needed if ignored(str(one.relative_to(ROOT)))]
        assert lost == []
    assert ignored("site/devices.json")
    assert ignored("gateway/secrets.json")
    # What pyproject reads when it builds, beside the packages.
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["readme"] in copied
    assert "LICENSE" in copied


def test_no_secret_can_come_into_a_layer() -> None:
    """What is copied is named, nothing is fetched from an address, and no variable is a secret."""
    for stage in stages():
        assert of(stage, "ADD") == of(stage, "ARG") == []
        assert "." not in [word for one in of(stage, "COPY") for word in one.split()[:-1]]
        assert not re.search(r"(?i)(password|secret|token|key)\s*=", " ".join(of(stage, "ENV")))
    assert (HERE / "Dockerfile.dockerignore").read_text().split("\n")[1] == "*"
    for name in ("devices.json", "secrets.json", "keyholder.json", "x.sqlite", "ca.key", "a.pem"):
        assert ignored(name), name
        assert ignored(f"gateway/web/{name}"), name


@pytest.mark.long
def test_what_the_image_copies_is_enough_to_install_and_run(tmp_path: Path) -> None:
    """The build stage's own step, without an engine: a copy of these files, pip, a fresh place."""
    build, _ = stages()
    for one in of(build, "COPY"):
        *sources, target = one.split()
        for source in sources:
            place = tmp_path / "src" / target / ("" if (ROOT / source).is_dir() else source)
            if (ROOT / source).is_dir():
                skip = shutil.ignore_patterns("__pycache__", "*.nbi", "*.nbc")
                shutil.copytree(ROOT / source, place, ignore=skip)
            else:
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / source, place)
    pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--quiet"]
    target = tmp_path / "opt"
    ran = processes.run(
        [*pip, "--target", target, tmp_path / "src"], capture_output=True, text=True, timeout=600
    )
    if "No matching distribution found for setuptools" in ran.stderr:
        pytest.skip("pip finds no setuptools from here: it needs a package index to build")
    assert ran.returncode == 0, ran.stderr
    script = (
        "import gateway, sys; assert gateway.__file__.startswith(sys.argv[1]), gateway.__file__\n"
        "from gateway.cli import main; main(sys.argv[2:])"
    )
    for words in (["config", "--sample"], ["config", "--schema"], ["serve", "--help"]):
        ran = processes.run(
            [sys.executable, "-c", script, str(target), *words],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(target)},
            capture_output=True,
            text=True,
        )
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout
    for name in ("web/page/index.html", "sample.toml", "deploy/heatveil-gateway.service"):
        assert (target / "gateway" / name).is_file()
    # Every module that is tracked is installed, or the first one to need it fails at night.
    missing = [
        str(path.relative_to(tmp_path / "src"))
        for path in (tmp_path / "src").rglob("*.py")
        if "build" not in path.parts and not (target / path.relative_to(tmp_path / "src")).exists()
    ]
    assert missing == []


@pytest.fixture(scope="module")
def composition() -> Any:
    """Return compose.yaml."""
    return yaml.safe_load((HERE / "compose.yaml").read_text())


def test_every_container_is_closed_alike(composition: Any) -> None:
    """No rights, no writing but where it is named, no second root."""
    for name, service in composition["services"].items():
        assert service["user"] == f"{UID}:{UID}", name
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert not service.get("privileged")
        assert ":latest" not in service["image"]


def test_the_network_reaches_what_asks_who_comes(composition: Any) -> None:
    """The broker by TLS, and the page, which wants a token; who watches sits at the machine."""
    ports = {name: one.get("ports", []) for name, one in composition["services"].items()}

    assert (ports.pop("broker"), ports.pop("gateway")) == (["8883:8883"], ["8080:8080"])
    assert "HEATVEIL_PAGE__TOKEN_FILE" in composition["x-site"]
    assert all(one.startswith("127.0.0.1:") for some in ports.values() for one in some)


def test_the_environment_loads_with_the_sample(
    composition: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What compose.yaml sets is what the program knows, and goes together."""
    for name, value in composition["x-site"].items():
        monkeypatch.setenv(name, value)
    (tmp_path / "gateway.toml").write_text(make_sample())
    loaded = load_deployment(tmp_path / "gateway.toml")

    assert (loaded.mqtt.host, loaded.page.host) == ("broker", "0.0.0.0")
    assert str(loaded.page.token_file) == "/srv/heatveil/page.token"


# The units are what systemd takes without a word, and as closed as they can be.

NO_KEYS = ("HEATVEIL_LOG", "HEATVEIL_COMPILED")  # of the program, and of no table
UNITS = ["heatveil-gateway.service", "heatveil-worker@.service"]
ALL = [*UNITS, "heatveil-broker.service"]
PROGRAM = Path(sys.executable).with_name("heatveil")
MOST_EXPOSED = 1.5


def settings(unit: str, key: str) -> list[str]:
    """Return all values of a key, in their order."""
    return re.findall(rf"^{key}=(.*)$", (HERE / unit).read_text(), re.M)


@pytest.fixture
def analyze(need: Callable[[str], str]) -> str:
    """Return systemd-analyze, which looks at files and needs no systemd that runs."""
    return need("systemd-analyze")


@pytest.mark.parametrize("unit", ALL)
def test_systemd_has_nothing_to_say_of_a_unit(unit: str, analyze: str, tmp_path: Path) -> None:
    """A key that it does not know is a defence that is not there, and nobody sees it missing."""
    text = (HERE / unit).read_text().replace("/opt/heatveil/bin/heatveil", str(PROGRAM))
    text = text.replace("/usr/sbin/mosquitto", sys.executable)  # which may not be here
    name = unit.replace("@", "@1")
    (tmp_path / name).write_text(text)
    ran = processes.run([analyze, "verify", "--man=no", tmp_path / name], capture_output=True)

    assert (ran.returncode, ran.stdout + ran.stderr) == (0, b"")


@pytest.mark.parametrize("unit", ALL)
def test_a_unit_is_exposed_as_little_as_was_promised(
    unit: str, analyze: str, tmp_path: Path
) -> None:
    """systemd's own score, out of 10; most services of a distribution have 9."""
    name = unit.replace("@", "@1")
    (tmp_path / name).write_text((HERE / unit).read_text())
    command = [analyze, "security", "--offline=true", f"--threshold={10 * MOST_EXPOSED:.0f}"]
    ran = processes.run([*command, tmp_path / name], capture_output=True, text=True)
    score = re.search(r"exposure level for \S+: ([\d.]+)", ran.stdout)

    assert float(score[1]) <= MOST_EXPOSED
    assert ran.returncode == 0


@pytest.mark.parametrize("unit", ALL)
def test_the_units_are_locked_in_alike(unit: str) -> None:
    """What one of them may not, none may: the score has room for a defence that is left out."""
    words = "Protect Private Restrict[ANS] System NoNew Lock MemoryDeny Device Cap Amb Key Proc UM"
    lock = rf"^(?:{'|'.join(words.split())}).*=.*$"
    mine, others = ({*re.findall(lock, (HERE / one).read_text(), re.M)} for one in (unit, ALL[2]))

    assert {"UMask=0077", "ProtectSystem=strict", "CapabilityBoundingSet="} < mine
    assert mine - {"SystemCallFilter=setpriority"} == others  # the maps' lower priority


@pytest.mark.parametrize("unit", UNITS)
def test_what_the_units_set_is_what_the_program_knows(
    unit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A misspelled variable is ignored in silence, and the password not found."""
    (tmp_path / "gateway.toml").write_text(make_sample())
    loaded = load_deployment(tmp_path / "gateway.toml")
    for line in settings(unit, "#?Environment"):
        for word in line.split():
            name, _, value = word.partition("=")
            if not name.startswith("HEATVEIL_") or name in NO_KEYS:
                continue
            table, key = name.removeprefix("HEATVEIL_").lower().split("__")
            assert hasattr(getattr(loaded, table), key), name
            monkeypatch.setenv(name, str(tmp_path / "x"))
            assert value.startswith(("%d/", "%S/heatveil/"))
    again = load_deployment(tmp_path / "gateway.toml")

    assert again.mqtt.password_file == again.site.devices == tmp_path / "x"


@pytest.mark.parametrize("unit", UNITS)
def test_every_secret_that_is_named_is_loaded(unit: str) -> None:
    """A path to a credential that was never put there is a service that does not start."""
    loaded = {one.partition(":")[0] for one in settings(unit, "#?LoadCredential")}
    used = re.findall(r"%d/(\S+)", (HERE / unit).read_text())

    assert set(used) <= loaded
    assert loaded - set(used) == {"limits.json"}  # found beside devices.json


@pytest.mark.long
def test_the_words_of_the_commands_are_those_of_the_program() -> None:
    """`--help` knows each of them."""
    for unit in UNITS:
        (line,) = settings(unit, "ExecStart")
        words = line.split()
        ran = processes.run([PROGRAM, words[1], "--help"], capture_output=True, text=True)
        assert ran.returncode == 0
        assert all(word in ran.stdout for word in words if word.startswith("--"))


LOCKED = """
import ctypes, sys
PR_SET_MDWE, REFUSE_EXEC_GAIN = 65, 1  # prctl(2), Linux 6.3: what MemoryDenyWriteExecute does
if ctypes.CDLL(None).prctl(PR_SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0):
    sys.exit(77)
import cvxpy, psycopg, uvicorn
from gateway.service import serving
from recovery import kernels as compiled
from recovery.kernels import active_set
print(compiled.compile_if_worth(active_set, worth=True) is active_set)
"""


@pytest.mark.long
@pytest.mark.parametrize("said", ["0", "1"])
def test_where_nothing_may_be_compiled_maps_are_drawn_all_the_same(said: str) -> None:
    """What a map needs, under the lock of the unit; without the unit's word numba would raise."""
    assert "0" in [
        one.removeprefix("HEATVEIL_COMPILED=") for one in settings(UNITS[0], "Environment")
    ]
    environment = os.environ | {"HEATVEIL_COMPILED": said}
    command = [sys.executable, "-W", "ignore", "-c", LOCKED]
    ran = processes.run(command, env=environment, capture_output=True, text=True)
    if ran.returncode == 77:
        pytest.skip("this kernel has no PR_SET_MDWE: it needs Linux 6.3")
    if said == "1":
        pytest.importorskip("numba")
        assert "cannot allocate executable memory" in ran.stderr
    else:
        assert (ran.returncode, ran.stdout) == (0, "True\n"), ran.stderr


@pytest.mark.parametrize("unit", UNITS)
def test_a_store_that_is_not_what_it_was_is_not_begun_again(unit: str) -> None:
    """Whatever else ends a gateway, it comes back; after this somebody has to look."""
    assert settings(unit, "Restart") == ["on-failure"]
    assert settings(unit, "RestartPreventExitStatus") == [str(ReplacedFault.status)]


def test_no_secret_stands_in_a_unit() -> None:
    """Whoever is on the machine can read units."""
    for unit in UNITS:
        for line in settings(unit, "#?Environment"):
            assert not re.search(r"(PASSWORD|TOKEN|SECRET)\w*=(?!%d)", line)


# The dashboard, the scrape and the alerts ask for what a gateway counts, and for nothing else.

DASHBOARD = json.loads((HERE / "grafana-dashboard.json").read_text())
RULES = yaml.safe_load((HERE / "alerts.yml").read_text())["groups"][0]["rules"]
OURS = re.compile(r"\bheatveil_\w+")
SUFFIXES = {
    "counter": ("_total", "_created"),
    "histogram": ("_bucket", "_sum", "_count"),
    "gauge": ("",),
}


def counted() -> set[str]:
    """Return the series that a gateway has, by the names under which Prometheus keeps them."""
    found = set()
    for family in text_string_to_metric_families(Metrics().render_fresh().decode()):
        found |= {family.name + suffix for suffix in SUFFIXES.get(family.type, ())}
    return found


def expressions() -> list[str]:
    """Return every expression of dashboard and alerts."""
    shown = [one["expr"] for panel in DASHBOARD["panels"] for one in panel["targets"]]
    return [*shown, *(rule["expr"] for rule in RULES)]


@pytest.mark.parametrize("expression", expressions())
def test_what_is_asked_for_is_counted(expression: str) -> None:
    """A panel of a series that nobody writes is empty, and an alert on one never comes."""
    named = set(OURS.findall(expression))

    assert named <= counted()
    assert named or expression.startswith("up{")


def test_promtool_has_nothing_to_say(tmp_path: Path, need: Callable[[str], str]) -> None:
    """Prometheus' own check of the configuration and the rules."""
    promtool = need("promtool")
    for name in ("prometheus.yml", "alerts.yml"):
        (tmp_path / name).write_text((HERE / name).read_text())
    (tmp_path / "page.token").write_text("x" * 16)
    for words in (["config", "prometheus.yml"], ["rules", "alerts.yml"]):
        ran = processes.run([promtool, "check", *words], cwd=tmp_path, capture_output=True)
        assert ran.returncode == 0, ran.stdout + ran.stderr


def test_no_panel_and_no_alert_is_of_one_device() -> None:
    """When a thermometer speaks shows when somebody is in its room."""
    text = json.dumps(DASHBOARD) + (HERE / "alerts.yml").read_text()

    assert not re.search(r"by \([^)]*device", text)
    assert "{{device}}" not in text
