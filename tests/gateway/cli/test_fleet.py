"""`heatveil fleet` to its end and on the disk, and `heatveil demo` as a newcomer runs it."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from gateway.cli.devices.fleet import FleetInputs, make_scenery, make_world
from gateway.devices.enrol import enrol
from gateway.devices.fleet import crowd
from gateway.settings import config
from tests import processes
from tests.waiting import eventually, hearing

PROGRAM = Path(sys.executable).with_name("heatveil")
SUMMARY = re.compile(
    r"(\d+) frames sent, (\d+) acknowledged by the broker, (\d+) received by the gateway, "
    r"(\d+) waiting, 0 lost(?:; \d+ of those received came too late to count, or were refused)?"
    r"(; devices died without a goodbye \d+ times and came back \d+ times)?"
)


def played(site: Path) -> tuple[list[str], dict[str, bytes], str]:
    """Return what a fleet says till Ctrl-C after a round, its last states, and its log."""
    command = [PROGRAM, "fleet", "--config", site, "--sources-random", "1"]
    deployment, piped = (
        config.load_deployment(site),
        {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE},
    )

    def states() -> dict[str, bytes]:
        return {one.topic.split("/")[3]: one.payload for one in heard}

    with (
        hearing(deployment.mqtt, f"heatveil/1/{deployment.site.name}/+/state") as heard,
        processes.Child(command, text=True, **piped) as fleet,
    ):
        first = [fleet.stdout.readline().strip() for _ in range(2)]
        serve = [PROGRAM, "serve", "--config", site, "--rounds", "1"]
        served = processes.run(serve, capture_output=True, text=True, check=False)
        os.killpg(fleet.pid, signal.SIGINT)  # as a terminal does: all of them hear it
        rest, log = fleet.communicate()
        eventually(lambda: set(states().values()) <= {b"disconnected", b"lost"}, 10)
    assert served.returncode == 0, served.stderr
    assert fleet.returncode == 0, log
    return [*first, *rest.splitlines()], states(), log


@pytest.mark.long
def test_a_fleet_says_goodbye_and_what_became_of_its_frames(
    living: Path, heatveil: Callable[..., Any]
) -> None:
    """Six devices were asked once: six frames, each of them in the gateway's store."""
    assert heatveil("enrol", "--config", living).status == 0
    said, states, log = played(living)
    found = SUMMARY.fullmatch(said[-1])

    assert said[0].startswith("6 devices are on the broker")
    assert said[0].endswith("; Ctrl-C ends them")
    assert re.match(r"the truth, which only .* knows: sources stand at \d+\.\d\d m \(int", said[1])
    assert found, said
    assert found.groups() == ("6", "6", "6", "0", None)
    assert set(states.values()) == {b"disconnected"}
    assert len(states) == 6
    assert "Traceback" not in log


@pytest.mark.parametrize("mechanism", ["thermal", "disk"])
def test_who_is_where_is_the_same_at_each_start(tmp_path: Path, mechanism: str) -> None:
    """A map of all rounds would else be of two rooms; another site is another room."""
    path = tmp_path / "site.toml"

    def stand(site: str) -> str:
        path.write_text(f'[site]\nname = "{site}"\n' + sample.partition("\n[site]")[2])
        deployment = config.load_deployment(path)
        given = deployment, config.make_query(deployment), FleetInputs(), make_world(deployment)
        with make_scenery(*given).run_scene(None) as told:
            return str(told)

    sample = re.sub(r"(?m)^name = .*$", "", config.make_sample(mechanism), count=1)
    assert stand("lab") == stand("lab")
    assert stand("lab") != stand("attic")


# What enrolling leaves on the disk, and a fleet that starts again.


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return a deployment of six devices, whose broker is nowhere: enrolling needs none."""
    text = (
        config.make_sample().replace("count = 50", "count = 6").replace("port = 8883", "port = 1")
    )
    text = re.sub("(?m)^(ca_file|password_file).*$", "", text)
    path = tmp_path / "site.toml"
    path.write_text(text.replace("# insecure", "insecure"))
    return path


def names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def kept(count: int) -> set[str]:
    return {f"state/node-{i}.{slot}" for i in range(count) for slot in range(3)} | {"state/lock"}


def test_a_sealed_fleet_leaves_no_root_behind(
    site: Path, heatveil: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host forgets it: nothing on the disk leads to the noise of boots that are over."""
    monkeypatch.setattr(crowd, "PATIENCE_S", 0.3)
    assert heatveil("enrol", "--config", site).status == 0
    assert "no MQTT broker" in heatveil("fleet", "--config", site).err
    found = names(site.parent)
    devices = enrol.load_devices(site.parent / "devices.json", "lab")

    assert found - {"limits.json"} == {"site.toml", "secrets.json", "devices.json"} | kept(6)
    assert {device.mode for device in devices.by_name.values()} == {"sealed"}
    private = [site.parent / name for name in found - {"site.toml"}]
    assert {path.stat().st_mode & 0o77 for path in private} == {0}
    assert (site.parent / "state").stat().st_mode & 0o77 == 0


@pytest.mark.parametrize("old", ["secrets.json", "devices.json", "keyholder.json", "state"])
def test_nothing_old_is_overwritten(site: Path, heatveil: Callable[..., Any], old: str) -> None:
    """Keys and budgets of devices out there: there is only this one copy of them."""
    path = site.parent / old
    if old == "state":
        path.mkdir()
        path = path / "node-0.0"
    path.write_text("precious")

    assert f"{old} already exists" in heatveil("enrol", "--config", site).refusal
    assert path.read_text() == "precious"
    assert names(site.parent) == {"site.toml", path.relative_to(site.parent).as_posix()}


# `heatveil demo`, as a newcomer runs it: everything over real MQTT, and nothing left behind.


class Demo(NamedTuple):
    """A demonstration that runs, and a mark on it and on all that it starts."""

    process: subprocess.Popen[str]
    folder: Path
    mark: str

    def until(self, words: str, patience_s: float = 60) -> str:
        """Return all lines up to the one with these words."""
        lines, end_s = [], time.monotonic() + patience_s
        for line in self.process.stdout or ():
            lines.append(line)
            if words in line or time.monotonic() > end_s:
                break
        return "".join(lines)

    def left(self) -> list[str]:
        """Return what still runs of it, and what it left among the temporary files."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if self.mark.encode() in (process / "environ").read_bytes():
                    found.append((process / "cmdline").read_bytes().decode())
            except OSError:  # somebody else's, or just gone
                continue
        return found + [path.name for path in (self.folder / "tmp").iterdir()]


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[type[Demo]]:
    """Return the starter of a demonstration; what is left of it at the end is killed."""
    started = []

    def start(*words: str) -> Demo:
        mark = uuid.uuid4().hex
        (tmp_path / "tmp").mkdir()
        environment = {**os.environ, "MARK": mark, "TMPDIR": str(tmp_path / "tmp")}
        process = processes.Child(
            [PROGRAM, "demo", "--folder", str(tmp_path / "demo"), *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**environment, "COLUMNS": "300"},
        )
        started.append(process)
        return Demo(process, tmp_path, mark)

    yield start
    for process in started:
        process.kill()
        process.communicate()


def _closed(address: str) -> bool:
    host, port = address.rsplit(":", 1)
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) != 0


@pytest.mark.long
def test_a_newcomer_sees_warmth_found_and_places_hidden(demo: type[Demo]) -> None:
    """The promise of the first page: one command, a map, all of it true."""
    run = demo("--seed", "4", "--rounds", "2")
    opening = run.until("round 1 of 2")
    rest = run.until("--keep leaves it up")

    assert run.process.wait() == 0
    assert "50 thermometers" in opening
    assert [(opening + rest).count(f"round {number} of 2") for number in (1, 2)] == [1, 1]
    found, guess = re.search(
        r"the map is ([\d.]+) m from the truth .* no data is ([\d.]+) m", rest
    ).groups()
    assert float(found) < float(guess)
    assert "from one 0.5 m away 78.4% of the time" in rest
    assert "epsilon 8.00 of 8.00 spent; rounds left: 0" in rest
    assert "nothing of this is private" in rest
    assert "Trust needed: in everybody, for this is not private" in rest
    assert "SIM-CDP" not in rest
    assert (run.folder / "demo" / "veil.png").read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in (run.folder / "demo").iterdir()] == ["veil.png"]
    broker = re.search(r"on (127.0.0.1:\d+)", opening)[1]
    page = re.search(r"http://(127.0.0.1:\d+)/", opening)[1]
    assert _closed(broker)
    assert _closed(page)
    assert run.left() == []


@pytest.mark.long
def test_without_mosquitto_it_says_the_same_and_complains_of_nothing(tmp_path: Path) -> None:
    """The broker in this process refuses MQTT 5 at first, which is no news for a newcomer."""
    hidden = (  # mosquitto is looked for outside of PATH too
        "from gateway import cli; from gateway.devices.broker import embedded; "
        "embedded.find_mosquitto = lambda: None; cli.main()"
    )
    words = ["demo", "--folder", str(tmp_path), "--rounds", "1", "--sensors", "8"]
    ran = processes.run([sys.executable, "-c", hidden, *words], capture_output=True, text=True)

    assert (ran.returncode, ran.stderr) == (0, "")
    assert "Broker: amqtt" in ran.stdout
    assert "Picture: " in ran.stdout


@pytest.mark.long
def test_kept_it_runs_until_it_is_told_to_stop(demo: type[Demo]) -> None:
    """The page stays up after the last round, and one Ctrl-C takes everything down."""
    run = demo("--keep", "--rounds", "1", "--sensors", "8")
    said = run.until("Still running")
    page = re.search(r"http://127.0.0.1:\d+/", said)[0]
    with urllib.request.urlopen(f"{page}api/v1/state", timeout=30) as answer:
        assert b'"done"' in answer.read()
    assert len(run.left()) > 1  # the check itself sees what runs
    run.process.send_signal(signal.SIGINT)

    assert run.process.wait() == 0
    assert "Traceback" not in (run.process.stdout.read() if run.process.stdout else "")
    assert run.left() == []


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_stopped_in_the_middle_it_leaves_nothing(demo: type[Demo], number: signal.Signals) -> None:
    """Told to end between two rounds, with reports under way: still nothing stays behind."""
    run = demo("--rounds", "100")
    run.until("round 2 of 100")
    run.process.send_signal(number)
    said = run.process.communicate()[0]

    assert run.process.returncode == 0
    assert "Traceback" not in said
    assert run.left() == []
