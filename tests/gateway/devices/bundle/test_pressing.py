"""What pressing would change the meaning of is refused.

Pressing changes names and places, and nothing that a program does.
"""

import ast

import pytest

from gateway.devices.bundle import naming, pressing, release
from gateway.devices.bundle.parts import read_sources

OTHER = "LEAST = 7\ndef f():\n    return LEAST\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("_on = (1,)\ndef f():\n    global _on\n    _on = (2,)\n", "global _on"),
        ("def f(a):\n    def g():\n        nonlocal a\n        a = 1\n    g()\n", "nonlocal a"),
        ("def on():\n    pass\nclass A:\n    on = (5,)\n", "a name on in a class"),
        ("from . import other\ndef f():\n    other.LEAST = 9\n", "another value for other.LEAST"),
        ("from . import other\ndef f(other):\n    return other.LEAST\n", "is no module there"),
        ("from .other import LEAST\ndef f(LEAST):\n    return LEAST\n", "a name LEAST for"),
        ("def _f(wide):\n    return wide\ndef g(how):\n    return _f(**how)\n", "out of a dict"),
        ("class A:\n    def f(self, w):\n        return self.g(**w)\n", "out of a dict: self.g"),
        ("def f(a, w):\n    return getattr(a, '_' + w)\n", "put together"),
    ],
)
def test_what_would_come_to_mean_something_else_is_refused(text: str, says: str) -> None:
    """Else a board would do another thing than what was tested, or stop at it."""
    made = {f"edge/{name}.py": b"" for name in pressing.JOINED}
    made |= {"edge/other.py": OTHER.encode(), "edge/odd.py": text.encode()}
    with pytest.raises(ValueError, match=f"edge/odd.py has .*{says}"):
        pressing.press(made)


@pytest.mark.long
def test_what_means_the_same_is_not_refused() -> None:
    """What a driver or a module of the firmware takes by name, and all that edge has."""
    text = "from . import other\ndef f(machine, pins, other_):\n"
    text += "    return machine.I2C(0, **pins), getattr(machine, other_, None), other.LEAST\n"
    assert pressing.find_changes("edge/odd.py", ast.parse(text), {}) == []
    assert pressing.press(read_sources())


def test_a_number_whose_name_a_function_takes_is_not_folded() -> None:
    """Nor one that a class takes, or a fault that is caught."""
    for taken in ("def SIZE():\n    pass", "class SIZE:\n    pass"):
        assert naming.find_constants(ast.parse(f"SIZE = 4\n{taken}\n")) == {}
    caught = "SIZE = 4\ntry:\n    pass\nexcept OSError as SIZE:\n    pass\n"
    assert naming.find_constants(ast.parse(caught)) == {}


def test_a_text_that_becomes_bytes_stays_where_it_is() -> None:
    """A label of a key must not hang on a file that can be lost."""
    text = "def f():\n    return 'the label of a key'.encode()\n"
    assert "'the label of a key'.encode()" in ast.unparse(
        pressing.move_words(ast.parse(text), pressing.Words(), 0)
    )


SENTENCE = "a sentence of %d words that is long"


def shorter(text: str, given: set[str] | None = None) -> str:
    """Return a module's text with short names."""
    return ast.unparse(naming.shorten(ast.parse(text), given or set()))


def does(text: str, asked: str) -> object:
    """Return what an expression is worth after a module's text."""
    space: dict[str, object] = {}
    exec(text, space)
    return eval(asked, space)


PRIVATE = """
class Box:
    def __init__(self, held):
        self._held = held
        self.seen = _twice(held)
    def _more(self, by):
        return [self._held + by for _ in range(2)]
    def all(self):
        return self._more(1), (lambda held: held + self._held)(5), self.seen
def _twice(number, by=2):
    def inner(number):
        return number * by
    return inner(number)
def whole(sort, append):
    append = append + sort
    return append
"""


def test_private_names_and_arguments_become_short_and_it_does_the_same() -> None:
    """Also where a lambda hides an argument, and where a name in flash is a name here."""
    pressed = shorter(PRIVATE)

    for name in ("_held", "_twice", "_more", "sort"):
        assert name not in naming.find_variables(ast.parse(pressed)) | {
            node.attr for node in ast.walk(ast.parse(pressed)) if isinstance(node, ast.Attribute)
        }
    for asked in ("Box(3).all()", "whole(1, 2)", "Box(1).seen"):
        assert does(pressed, asked) == does(PRIVATE, asked)


def test_an_argument_that_is_given_by_name_keeps_it() -> None:
    """Else the call would fail, and on the board alone."""
    assert "def f(far, isalpha):" in shorter("def f(far, near):\n    return far", {"far"})
    assert "near=3" in shorter("def f(far, near=3):\n    return far")
    assert "(self, far)" in shorter("class A:\n    def __init__(self, far):\n        far()")
    text = ast.parse("def f(far):\n    return _g(far)\ndef _g(near):\n    return near\n")
    assert "def f(far)" in ast.unparse(naming.shorten(text, set(), outside=True))
    assert "near" not in ast.unparse(text)


def test_a_module_that_uses_anothers_private_name_is_refused() -> None:
    """Each module has short names of its own, so theirs would not meet."""
    made = {f"edge/{name}.py": b"" for name in pressing.JOINED}
    made["edge/a.py"] = b"class A:\n    def __init__(self):\n        self._x = 1\n"
    for text in ("a._x", "getattr(a, '_x')", "globals()"):
        made["edge/b.py"] = f"def f(a):\n    return {text}\n".encode()
        with pytest.raises(ValueError, match=r"edge/b.py uses (_x|globals): private in another"):
            pressing.press(made)


def test_numbers_are_written_where_they_are_used() -> None:
    """Of its own and of others, but not where a name hides one, and not what changes."""
    known = {
        "edge/a.py": naming.find_constants(
            ast.parse("SIZE = 4 * 8\nSTATE = 1\nSTATE = 2\nBIG = 1 << 40")
        ),
        "edge/b.py": {},
    }
    text = "from . import a\nfrom .a import SIZE\ndef f():\n    return SIZE + a.SIZE + a.BIG\n"

    assert known["edge/a.py"] == {"SIZE": 32}
    folded = ast.unparse(naming.fold(ast.parse(text), "edge/b.py", known, []))
    assert "return 32 + 32 + a.BIG" in folded
    assert "import SIZE" not in folded


def test_sentences_go_to_a_file_and_come_back() -> None:
    """Those that functions say; what is compared, short or the module's own stays."""
    words = pressing.Words()
    text = f'TOLD = "{SENTENCE}"\ndef f(n):\n    if n == "{SENTENCE}":\n        return "ab c"\n'
    text += f'    return "{SENTENCE}" % n\n'
    moved = ast.unparse(pressing.move_words(ast.parse(text), words, 0))

    assert moved.count(SENTENCE) == 2
    assert "return _said(0, n)" in moved
    assert words.data == SENTENCE.encode() + b"\n"


def test_a_module_is_joined_by_what_its_names_mean() -> None:
    """Two names that are alike, one that a function hides, and a module that is a value."""
    texts = {
        "edge/a.py": "def topic(n):\n    return n + 1\ndef same():\n    return 'a'\n",
        "edge/b.py": "from . import a\nfrom .a import topic\ndef same(topic):\n    return topic\n"
        "def whole(n):\n    shown = [a for a in (1, 2)]\n"
        "    return topic(n), same(n), a.same(), shown, KINDS[0].topic(n)\nKINDS = [a]\n",
        "edge/c.py": "from . import b\nfrom .a import same\n"
        "def all():\n    return b.whole(3), same()\n",
    }
    trees = {path: ast.parse(text) for path, text in texts.items()}
    out = pressing.join(trees, ["a", "b"], {"edge/a.py": {}, "edge/b.py": {"SIZE": 4}})
    core = ast.unparse(out[pressing.CORE])
    name = ast.unparse(out["edge/b.py"]).split(" as whole")[0].split()[-1]

    assert does(core, f"{name}(3)") == (4, 3, "a", [1, 2], 4)
    assert "SIZE = 4" in ast.unparse(out["edge/b.py"])
    assert f"{name}(3)" in ast.unparse(out["edge/c.py"])


def test_the_names_of_functions_are_told_from_those_of_modules() -> None:
    """All that binds a name, and nothing that lies deeper."""
    text = "def f(a, *b, c=1, **d):\n    for e in x:\n        with y as g: h = [i for i in e]\n"
    text += "    try: import j.k as l\n    except E as m: global n; n = 1\n    def o(p): q = 1\n"
    function = ast.parse(text).body[0]

    assert naming.find_locals(function) == set("abcdeghlmo")


@pytest.mark.long
def test_the_devices_modules_keep_what_they_promise() -> None:
    """Every public name of every module is there, in the module or in its stub."""
    before, after = read_sources(), pressing.press(read_sources())
    for path, text in before.items():
        names = {name for name in naming.find_locals(ast.parse(text)) if not name.startswith("_")}
        names -= naming.find_imported(ast.parse(text)) | {"load"}
        missing = names - naming.find_locals(ast.parse(after[path]))
        assert not missing, path


def test_an_image_has_the_layout_that_firmware_reads() -> None:
    """Byte by byte; test_heap runs a device from one, on a MicroPython that reads it."""
    assert release.make_image({"a/b.txt": b"hi"}) == (
        b"\xd2\xcd\x31\x10\x04\x0e\x01a\x05\x0a\x05b.txt\x02\x02hi"
    )
    assert release.make_image({"x": bytes(200)})[3:10] == b"\x81\x50\x05\x81\x4d\x01x"
