"""What pressing would change the meaning of is refused."""

import ast

import pytest

from gateway.devices.build import naming, pressing
from gateway.devices.build.parts import read_sources

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
