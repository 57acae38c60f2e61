"""What compiled modules come to mean is what their sources mean, or they are not made."""

import ast
import runpy
import shutil
import threading
from collections.abc import Callable
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from edge import words
from gateway.devices import bundle
from gateway.devices.bundle import SPEAKER, extract_sentences, shorten_names
from tests import processes
from tests.conftest import miss

SPEAKS = {SPEAKER: ast.parse("")}


def moved(text: str) -> tuple[str, bytes]:
    """Return a module without its sentences, and the file that holds them."""
    trees = {"edge/one.py": ast.parse(text), **SPEAKS}
    held = extract_sentences(trees)
    return ast.unparse(trees["edge/one.py"]), held


def test_sentences_go_to_a_file_and_come_back(tmp_path: Path) -> None:
    """With the values that were put into them."""
    text, held = moved("def f(n):\n    return 'it has %d params instead of one' % n\n")
    shutil.copy(words.__file__, tmp_path)
    (tmp_path / "words.txt").write_bytes(held)
    say = runpy.run_path(str(tmp_path / "words.py"))["read_sentence"]
    space: dict[str, Any] = {"_say": say}
    exec(text.split("\n", 1)[1], space)  # without its import

    assert b"params" in held
    assert "params" not in text
    assert space["f"](3) == "it has 3 params instead of one"


def test_names_are_swapped_without_a_tuple() -> None:
    """MicroPython makes one where it sees brackets, at each step of each loop of a device."""
    text = bundle.format_module(ast.parse("while a:\n    a, b = (b, f(a, (a, b)))\nnone = ()\n"))

    assert text == "while a:\n    a, b = b, f(a, (a, b))\nnone = ()\n"


def test_arguments_are_short_but_where_somebody_passes_them_by_name() -> None:
    """So is what has a default, for whoever leaves one out names the next."""
    text = "def f(first, named, at=1, *, only):\n    first.at = [named, at, only, first]\n"
    tree = ast.parse(text)
    bundle.shorten_locals(tree, {"named"})

    assert ast.unparse(tree) == text.replace("first", "_0").strip()


@pytest.mark.parametrize("held", [None, b"", b"\n\n\n"], ids=["lost", "empty", "cut"])
def test_a_refusal_is_never_empty(tmp_path: Path, held: bytes | None) -> None:
    """Whoever refuses says why, and who says nothing answers: a file may be lost or cut short."""
    shutil.copy(words.__file__, tmp_path)
    if held is not None:
        (tmp_path / "words.txt").write_bytes(held)
    say = runpy.run_path(str(tmp_path / "words.py"))["read_sentence"]

    assert say(1) == "fault 1"
    assert say(1, (2,)) == "fault 1"


@pytest.mark.parametrize(
    "kept", ["'the label of a key'.encode()", "why == 'the budget is spent for ever'"]
)
def test_a_text_that_must_be_right_stays_where_it_is(kept: str) -> None:
    """A label of a key, and what is compared, must not hang on a file that can be lost."""
    assert kept in moved(f"def f(why):\n    return {kept}\n")[0]


@pytest.mark.parametrize(
    "hidden",
    [
        "_on = 1\ndef f():\n    global _on\n    _on = 2\n",
        "def f():\n    _a = 1\n    def g():\n        nonlocal _a\n        _a = 2\n",
        "class A:\n    def _f(self):\n        return getattr(self, '_f')\n",
        "import _thread\n_a = _thread\n",
    ],
)
def test_a_private_name_that_would_no_longer_be_met_is_refused(hidden: str) -> None:
    """It would break on boards alone, where nobody sees a traceback."""
    with pytest.raises(ValueError, match="private names become short"):
        shorten_names({"edge/one.py": ast.parse(hidden)}, set())


@pytest.mark.parametrize(
    ("had", "there", "absent"),
    [
        (
            ("thermal", "tmp117"),
            {"sensors/tmp117"},
            {"disk_half", "core/table", "places", "window", "background"},
        ),
        (
            ("thermal", "amg8833", "tables"),
            {"core/table", "core/viper"},
            {"sensors/tmp117", "central"},
        ),
        (("thermal", "ds18b20", "window"), {"core/window"}, {"core/table", "crypto"}),
        (("thermal", "ds18b20", "following"), {"core/background"}, {"core/window"}),
        (("disk", "gps"), {"disk_half", "sensors/gps", "sensors/plane"}, {"ranks", "sum_node"}),
        (("quadtree", "fixed"), {"sum_node", "crypto", "quadtree"}, {"central", "disk_half"}),
    ],
)
def test_a_device_is_given_what_it_loads_and_nothing_of_other_kinds(had, there, absent) -> None:
    """A module that is missing would be found out on the board alone, and late."""
    sources = bundle.read_sources()
    picked = bundle.pick_modules(sources, bundle.FIRST, *had)
    names = " ".join(picked)

    for path, text in picked.items():
        first = [part for part in ast.parse(text).body if isinstance(part, ast.ImportFrom)]
        assert bundle.list_imports(path, ast.Module(first, [])) & set(sources) <= set(picked), path
    assert [word for word in there if f"{word}.py" not in names] == []
    assert [word for word in absent if f"{word}.py" in names] == []


def test_a_release_holds_what_any_enrolment_loads() -> None:
    """One release goes to all boards: one with a level that follows would start no more."""
    found = bundle.pick_release_modules("thermal")
    assert {f"edge/core/{name}.py" for name in ("background", "table", "window")} <= set(found)


INSTALL = """
import mip
mip.install("http://127.0.0.1:%d/package.json", target=%r, mpy=False)
"""


@pytest.mark.long
@pytest.mark.parametrize("whole", [True, False])
def test_mip_on_a_board_fetches_every_file_as_it_is(
    tmp_path: Path, need: Callable[[str], str], whole: bool
) -> None:
    """By whole addresses on every mip; by those beside the package where it knows them."""
    files = {"edge/words.txt": b"one\n", "edge/core/node.mpy": bytes(range(256))}
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path / "there"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        port = server.server_address[1]
        package = bundle.make_mip_package(files, f"http://127.0.0.1:{port}/" if whole else "")
        bundle.write_files(tmp_path / "there", {**files, bundle.PACKAGE: package})
        threading.Thread(target=server.serve_forever, daemon=True).start()
        program, script = need("micropython"), INSTALL % (port, str(tmp_path / "board"))
        ran = processes.run([program, "-c", script], capture_output=True, text=True, timeout=60)
        server.shutdown()
    if "no module named 'mip'" in ran.stderr:
        miss("this micropython has no mip, and the test installs with it")
    if not whole and ran.returncode:
        assert "ValueError" in ran.stderr  # mip before 0.4
        return

    assert ran.returncode == 0, ran.stderr
    got = tmp_path / "board"
    assert {path: (got / path).read_bytes() for path in files} == files
