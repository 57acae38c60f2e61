"""The image and the composition, read as an engine would read them; none is needed here."""

import json
import os
import re
import shutil
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml

from gateway import deploy
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


@pytest.mark.long
def test_the_check_of_its_health_is_a_command_with_these_flags() -> None:
    """As it is typed, against the program itself: a usage error would be "unhealthy" for ever."""
    _, last = stages()
    check = json.loads(of(last, "HEALTHCHECK")[0].partition("CMD ")[2])
    serve = json.loads(of(last, "CMD")[0])
    program = Path(sys.executable).with_name("heatveil")
    for words, flags in ((check[1:], check), (serve, serve)):
        ran = processes.run([program, words[0], "--help"], capture_output=True, text=True)
        assert ran.returncode == 0
        assert [one for one in flags if one.startswith("--") and one not in ran.stdout] == []
    asked = processes.run([program, *check[1:]], capture_output=True, text=True)
    assert asked.returncode == 1  # no such file here: our word, and no usage error, which is 2
    assert check[-1] == serve[-1]
    options = of(last, "HEALTHCHECK")[0].partition(" CMD")[0].split()
    assert {one.partition("=")[0] for one in options} == {
        *("--interval", "--timeout", "--start-period", "--retries")
    }


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
    from gateway.settings import config

    for name, value in composition["x-site"].items():
        monkeypatch.setenv(name, value)
    (tmp_path / "gateway.toml").write_text(config.sample())
    loaded = config.load(tmp_path / "gateway.toml")

    assert (loaded.mqtt.host, loaded.page.host) == ("broker", "0.0.0.0")
    assert str(loaded.page.token_file) == "/srv/heatveil/page.token"
