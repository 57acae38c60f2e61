"""The units are what systemd takes without a word, and as closed as they can be."""

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from gateway import deploy
from gateway.faults import ReplacedFault
from gateway.settings.config import load, sample
from tests import processes

HERE = Path(deploy.__file__).parent
NO_KEYS = ("HEATVEIL_LOG", "HEATVEIL_COMPILED")  # of the program, and of no table
UNITS = ["heatveil-gateway.service", "heatveil-worker@.service"]
ALL = [*UNITS, "heatveil-broker.service"]
PROGRAM = Path(sys.executable).with_name("heatveil")
MOST_EXPOSED = 1.5


def settings(unit: str, key: str) -> list[str]:
    """Return all values of a key, in their order."""
    return re.findall(rf"^{key}=(.*)$", (HERE / unit).read_text(), re.M)


@pytest.fixture
def analyze() -> str:
    """Return systemd-analyze, which looks at files and needs no systemd that runs."""
    found = shutil.which("systemd-analyze")
    if found is None:
        lacking = "systemd-analyze is not here and this test runs it: apt-get install systemd"
        pytest.fail(lacking) if os.environ.get("CI") == "true" else pytest.skip(lacking)
    return found


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

    assert score is not None
    assert float(score[1]) <= MOST_EXPOSED
    assert ran.returncode == 0


@pytest.mark.parametrize("unit", ALL)
def test_the_units_are_locked_in_alike(unit: str) -> None:
    """What one of them may not, none may: the score has room for a defence that is left out."""
    words = "Protect Private Restrict[ANS] System NoNew Lock MemoryDeny Device Cap Amb Key Proc UM"
    lock = rf"^(?:{'|'.join(words.split())}).*=.*$"
    mine, others = ({*re.findall(lock, (HERE / one).read_text(), re.M)} for one in (unit, ALL[0]))

    assert {"UMask=0077", "ProtectSystem=strict", "CapabilityBoundingSet="} < mine
    assert mine == others


@pytest.mark.parametrize("unit", UNITS)
def test_what_the_units_set_is_what_the_program_knows(
    unit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A misspelled variable is ignored in silence, and the password not found."""
    (tmp_path / "gateway.toml").write_text(sample())
    loaded = load(tmp_path / "gateway.toml")
    for line in settings(unit, "#?Environment"):
        for word in line.split():
            name, _, value = word.partition("=")
            if not name.startswith("HEATVEIL_") or name in NO_KEYS:
                continue
            table, key = name.removeprefix("HEATVEIL_").lower().split("__")
            assert hasattr(getattr(loaded, table), key), name
            monkeypatch.setenv(name, str(tmp_path / "x"))
            assert value.startswith(("%d/", "%S/heatveil/"))
    again = load(tmp_path / "gateway.toml")

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
print(compiled.tier(active_set, worth=True) is active_set)
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
