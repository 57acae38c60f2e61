"""A site on stage: a folder, keys, a broker, a gateway and devices, each a process of its own."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

from gateway.cli.devices import fleet
from gateway.devices.broker import dynamic
from gateway.mechanisms import find_mechanism
from gateway.service.ledger import compute_round_rho
from gateway.settings import config
from tests.processes import find_free_port
from tests.waiting import eventually

from . import truth
from .brokers import LIMITS, Broker
from .children import Child, python
from .clusters import Cluster
from .truth import Truth

SITE = "stage"
DEPLOYMENT = """\
[site]
name = "stage"
database = "{database}"
[room]
cells = 8
[heat]
spread_m2 = 0.05
[sensors]
count = {sensors}
[privacy]
epsilon = "8/1"
delta = "1/100000"
readings = {readings}
[rounds]
gather_s = {gather_s}
every_s = {every_s}
estimator = "{estimator}"
quorum = {quorum}
[mqtt]
port = {port}
insecure = true
{login}[page]
port = {page}
health_port = 0
"""
DEFAULTS: dict[str, Any] = {
    "sensors": 20,
    "readings": 20,
    "gather_s": 30,
    "every_s": 0,
    "estimator": "auto",
    "quorum": 1,
    "database": "heatveil.sqlite",
}


class Stage:
    """What a test of a fault needs; made by `staged`."""

    def __init__(
        self, folder: Path, broker: Broker, stack: ExitStack, port: int | None, **given: Any
    ) -> None:
        self.folder, self.broker, self._stack = folder, broker, stack
        self.page = find_free_port()
        self.path = folder / "gateway.toml"
        self._given, self.more, self.login = {**DEFAULTS, **given}, "", ""
        self.write(port or broker.port)
        fleet.enrol(self.path)
        self.database: Any = Path(folder, self._given["database"])
        planned = find_mechanism("thermal").plan(
            config.make_query(config.load_deployment(self.path)), []
        )
        self.price = compute_round_rho(planned.guarantee)

    def write(self, port: int, **given: Any) -> None:
        """Write the deployment file, with the broker behind this port, and `more` at its end."""
        values = {**self._given, **given, "port": port, "page": self.page, "login": self.login}
        self.path.write_text(DEPLOYMENT.format(**values) + self.more)

    def keep_in(self, cluster: Cluster) -> Cluster:
        """Keep everything in a PostgreSQL, and in no file; start it."""
        self._stack.enter_context(cluster).start()
        self.more += f'[store]\npostgresql = "{cluster.words}"\n'
        self.write(self.broker.port)
        self.database = cluster.words
        return cluster

    def gateway(self, *switches: str, rounds: int | None = None, start: bool = True) -> Child:
        """Start the gateway, with these defences switched off."""
        words = [self.path, json.dumps(switches)] + ([str(rounds)] if rounds else [])
        child = Child(python("served.py", *words), self.folder / "gateway.txt")
        self._stack.enter_context(child)
        return child.start() if start else child

    def edges(self, port: int | None = None, *, start: bool = True, **options: Any) -> Child:
        """Start devices that are edge's own."""
        path = self.path
        if port is not None:  # by another way than the gateway's
            path = self.path.with_name("edges.toml")
            values = {**self._given, "port": port, "page": self.page, "login": ""}
            path.write_text(DEPLOYMENT.format(**values))
        words = python("edges.py", path, json.dumps(options))
        child = self._stack.enter_context(Child(words, self.folder / "edges.txt"))
        return child.start() if start else child

    def hurried(self, port: int | None = None, **options: Any) -> Child:
        """Start devices that answer fast and in great number."""
        words = python(
            "hurried.py", self.folder, str(port or self.broker.port), json.dumps(options)
        )
        return self._stack.enter_context(Child(words, self.folder / "hurried.txt")).start()

    def said(self) -> dict[truth.Numbers, bytes]:
        """Return what devices have written down."""
        return truth.said(self.folder.glob("*.log"))

    def freed(self) -> int:
        """Return how many readings a fleet in a hurry has let go of."""
        logs = [log.read_text() for log in self.folder.glob("*.log")]
        return sum(line.startswith("-") for log in logs for line in log.splitlines())

    def charges(self) -> tuple[int, Fraction, int]:
        """Return rounds, everything that was charged, and charges beside those of rounds."""
        return truth.charges(self.database)

    def opened(self) -> int:
        """Return how many rounds have been asked."""
        rows = truth.ask(self.database, "SELECT count(*) FROM rounds")
        return int(rows[0][0]) if rows else 0

    def asked(self, rounds: int = 1) -> bool:
        """Wait until so many rounds are asked, and are on the broker."""
        found = eventually(lambda: self.opened() >= rounds)
        time.sleep(0.3)
        return found

    def released(self) -> int:
        """Return how many rounds are closed."""
        rows = truth.ask(self.database, "SELECT count(*) FROM releases")
        return int(rows[0][0]) if rows else 0

    def stored(self) -> int:
        """Return how many readings count so far."""
        rows = truth.ask(self.database, "SELECT count(*) FROM reports")
        return int(rows[0][0]) if rows else 0

    def heard(self) -> int:
        """Return how many genuine readings do not count."""
        return int(truth.ask(self.database, "SELECT count(*) FROM heard")[0][0])

    def alarms(self) -> int:
        """Return how many devices are under suspicion."""
        return int(truth.ask(self.database, "SELECT count(*) FROM alarms")[0][0])

    def truth(self) -> Truth:
        """Return what became of every reading so far."""
        return truth.judged(self.folder.glob("*.log"), self.database)

    def settled(self, patience_s: float = 30.0) -> Truth:
        """Wait until nothing is missing any more; return what is so then."""
        eventually(lambda: not self.truth().lost, patience_s)
        return self.truth()


@contextmanager
def staged(
    program: str, folder: Path, *, port: int | None = None, **given: Any
) -> Iterator[Stage]:
    """Enrol a fleet and start a broker; what was started ends with the block."""
    with ExitStack() as stack:
        persistent = given.pop("persistent", True)
        broker = Broker(program, folder / "broker", persistent=persistent)
        stack.enter_context(broker).start()
        yield Stage(folder, broker, stack, port, **given)


# What the page of a gateway on stage answers.


def get(site: Stage, path: str) -> int | None:
    """Return the status of an address; None when nobody answers."""
    return _asked(site, path)[0]


def told(site: Stage, path: str) -> Any:
    """Return what an address says, as JSON or as text; None when nobody answers."""
    said = _asked(site, path)[1]
    try:
        return json.loads(said)
    except ValueError:
        return said.decode()


def _asked(site: Stage, path: str) -> tuple[int | None, bytes]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{site.page}{path}", timeout=30) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as fault:
        with fault:
            return fault.code, fault.read()
    except OSError:
        return None, b"null"


# A broker that lets nobody in without a name, with the files that heatveil makes for it.

GATEWAY = "gateway"


def secrets(site: Stage) -> dict[str, str]:
    """Return the password of everybody, the gateway's first."""
    rows = json.loads((site.folder / "secrets.json").read_text())["devices"]
    return {GATEWAY: "of the gateway"} | {row["name"]: row["link_key"] for row in rows}


def locked(site: Stage, stack: ExitStack, plugin: Path) -> Broker:
    """Start a broker with dynamic security that lets in whom it knows, and let the site use it."""
    folder, known = site.folder / "locked", secrets(site)
    folder.mkdir()
    file = folder / dynamic.FILE
    file.write_text(dynamic.make_plugin_file(SITE, GATEWAY, known, "homeassistant"))
    file.chmod(0o600)
    more = f"allow_anonymous false\n{LIMITS}plugin {plugin}\nplugin_opt_config_file {file}\n"
    (site.folder / "gateway.password").write_text(known[GATEWAY])
    site.login = f'username = "{GATEWAY}"\npassword_file = "gateway.password"\n'
    site.broker.stop()
    broker = Broker(site.broker.command[0], folder, more=more)
    stack.enter_context(broker).start()
    site.broker = broker
    site.write(broker.port)
    return broker
