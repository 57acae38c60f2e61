"""The device's modules pressed for a release: the same program in less memory.

    sentences   go to words.txt, and are read when one is needed (`wording`)
    numbers     that have a name are written where they are used (`folding`)
    names       that nobody outside uses become short, and the same in all modules (`shortening`)

No statement is added, left out or moved. The tests of the device run on what comes out, too.
"""

import ast
from collections.abc import Mapping

from . import folding, shortening, wording

WORDS = "edge/words.txt"
WHOLE = ("edge/viper.py", "edge/words.py")  # machine code; and what reads the sentences


def pressed(sources: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return pressed sources by their path, and the file of their sentences.

    Raises:
        ValueError: a module uses what another one calls private, so its name cannot be changed.
    """
    trees = {path: ast.parse(text) for path, text in sources.items() if path not in WHOLE}
    known = {path: folding.constants(tree) for path, tree in trees.items()}
    given = set().union(*[shortening.keywords(tree) for tree in trees.values()])
    names = set().union(*[shortening.private(tree) for tree in trees.values()])
    words = wording.Words()
    out = {path: sources[path] for path in sources if path in WHOLE}
    for path, tree in sorted(trees.items()):
        if strange := shortening.borrowed(tree, names):
            raise ValueError(
                f"{path} uses {', '.join(sorted(strange))}, which another module calls private; "
                "each module is given short names of its own, so the two would not meet. Make "
                "the name public"
            )
        tree = folding.folded(_plain(tree), path, known)
        tree = shortening.shortened(tree, given)
        tree = wording.moved(tree, words, path.count("/") - 1)
        out[path] = ast.unparse(tree).encode() + b"\n"
    return {**out, WORDS: words.data}


def _plain(tree: ast.Module) -> ast.Module:
    """Return a module without its docstrings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:] or [ast.Pass()]
    return tree
