"""What is said of a text that is no TOML: the row in which it went wrong, and how it is right."""

import re
import tomllib
from pathlib import Path

from .tables import TABLES

_TEXT = re.compile(r'"(?:\\.|[^"\\])*"|\'[^\']*\'')
_BEGINS = re.compile(r"\s*(?:\[{1,2}\s*[A-Za-z_][\w.-]*|([\w.-]+)\s*=)")
_TABLE = re.compile(r"\s*(\[\[?)\s*([\w.-]+)\s*\]")


def untidy(path: Path, text: str, error: tomllib.TOMLDecodeError) -> ValueError:
    """Return the fault of a text that `tomllib` refused with this error."""
    # The line is at the end of what tomllib says; at the end of the file it names none.
    says, _, place = str(error).partition(" (at ")
    words = place.removesuffix(")").replace(",", "").split()
    rows = text.split("\n")
    line = int(words[1]) if words[:1] == ["line"] else len(rows)
    row = rows[line - 1].strip()
    table = _TABLE.match(row)
    expected, example = "it must be TOML, key = value", 'name = "office"\n    size_m = [6.0, 4.0]'
    unclosed = _unclosed(rows, line)
    if unclosed:
        line, expected, example = unclosed
        row = rows[line - 1].strip()
    elif table and says.startswith("Cannot"):
        line, expected, example = _twice(rows, line, table[2])
        row = rows[line - 1].strip()
    elif says == "Cannot overwrite a value":
        expected, example = "each key may be there once in its table", row
    elif set(row) & set("\u201c\u201d\u201e"):
        expected, example = "quotes are straight ones", 'name = "office"'
    elif ":" in row.partition("=")[2]:
        expected, example = "a time of day stands in quotes", 'start = "08:00"'
    elif row.partition("=")[2].strip()[:1] in [*"+-.0123456789"]:
        expected, example = "a number has a point and no unit", "height_m = 2.7"
    return ValueError(
        f"{path} line {line}: {row[:60]!r} cannot be read ({says}), but {expected}, for the room "
        f"is built from it. For example:\n    {example}"
    )


def _twice(rows: list[str], line: int, name: str) -> tuple[int, str, str]:
    """Return the line of a table that is there twice, or once in each kind of bracket."""
    if name not in TABLES or not TABLES[name].many:
        if rows[line - 1].strip()[:2] == "[[":
            return line, f"it must be written [{name}], for there is only one", f"[{name}]"
        return line, f"[{name}] may be there once", f"[{name}]"
    single = re.compile(rf"\s*\[\s*{re.escape(name)}\s*\]")
    wrong = next((at for at, row in enumerate(rows, 1) if single.match(row)), line)
    return wrong, f"it must be written [[{name}]], for there may be several", f"[[{name}]]"


def _unclosed(rows: list[str], line: int) -> tuple[int, str, str] | None:
    """Return the line, at a fault or before it, whose bracket or quote does not close, or None."""
    bare = _bare(rows[line - 1])
    if bare.count('"') == 1:
        row = rows[line - 1].split("#")[0].strip()
        simple = re.search(r'=\s*"[^"]*$', row)
        shown = f'{row}"' if simple else 'path = [["08:30", 0.3, 3.8], ["12:00", "stay"]]'
        return line, "a quote that begins must end", _right(shown)
    if _BEGINS.match(bare) and "=" not in bare and _depth(bare) > 0:
        return line, "a bracket that opens must close", _right(bare.strip() + "]" * _depth(bare))
    first = line - 1
    while first and not _BEGINS.match(rows[first - 1]):
        first -= 1
    deep = [_depth(_bare(row)) for row in rows[max(first - 1, 0) : line - 1]]
    # What begins anew in the middle of a list, or the end of the file, is not what is wrong.
    anew = _BEGINS.match(rows[line - 1]) or not "".join(rows[line - 1 :]).strip()
    before = next((at for at in range(len(deep) - 1, 0, -1) if rows[first + at - 1].strip()), 0)
    inner = before and deep[before] > 0 and rows[first + before - 1].rstrip()[-1] not in "[,"
    if not first or sum(deep) <= 0 or not (anew or inner):
        return None
    odd = before if inner else next((at for at, one in enumerate(deep) if at and one > 0), 0)
    begins = _BEGINS.match(rows[first - 1])
    key = (begins[1] if begins else None) or "size_m"
    row = rows[first + odd - 1].split("#")[0].strip().rstrip(",")
    closed = row + "]" * deep[odd]
    known = next((it.keys[key].example for it in TABLES.values() if key in it.keys), "[6.0, 4.0]")
    shown = f"{key} = [{closed}]" if odd else closed
    if not odd and len(deep) > 1 and row.endswith("["):
        shown = f"{key} = {known}"
    return first + odd, "a bracket that opens must close", _right(shown, f"{key} = {known}")


def _bare(row: str) -> str:
    """Return a row without its texts and its comment."""
    return _TEXT.sub("", row).split("#")[0]


def _depth(bare: str) -> int:
    return bare.count("[") - bare.count("]")


def _right(*examples: str) -> str:
    """Return the first of these that can be read, or another one."""
    for example in examples:
        try:
            tomllib.loads(example)
        except tomllib.TOMLDecodeError:
            continue
        return example
    return "size_m = [6.0, 4.0]"
