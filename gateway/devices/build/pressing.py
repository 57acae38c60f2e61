"""The device's modules pressed for a release: the same program in less memory.

    sentences   go to words.txt, and are read when one is needed (`wording`)
    numbers     that have a name are written where they are used (`folding`)
    names       that nobody outside uses become short, and the same in all modules (`shortening`)
    modules     that every device loads are put together (`joining`)

No statement of a function is added, left out or moved. The tests of the device run on what comes
out, too.
"""

import ast
from collections.abc import Mapping

from . import folding, joining, meaning, shortening, wording

WORDS = "edge/words.txt"
WHOLE = "edge/viper.py"  # machine code, which a board compiles for itself
LOADING, LOAD = "edge/loading.py", "def load():\n    from . import core\n"
# What a device always has. The others are for some devices, or for some moments.
JOINED = (
    *("ahead", "budget", "cbor", "clock", "compat", "copies", "device", "entropy", "flights"),
    *("keys", "limits", "link", "mqtt", "node", "noise", "packets", "pause", "receipts"),
    *("records", "refusals", "ring", "saying", "slots", "talking", "ticker", "veil", "wire"),
    "words",
)


def pressed(sources: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return pressed sources by their path, and the file of their sentences.

    Raises:
        ValueError: a module uses what another one calls private, so its name cannot be changed;
            or something that would come to mean something else.
    """
    trees = {path: ast.parse(text) for path, text in sources.items() if path != WHOLE}
    handed = set().union(*[folding.renamed(tree) for tree in trees.values()])
    known = {path: folding.constants(tree, handed) for path, tree in trees.items()}
    given = set().union(*[shortening.keywords(tree) for tree in trees.values()])
    names = set().union(*[shortening.private(tree) for tree in trees.values()])
    words = wording.Words()
    for path, tree in sorted(trees.items()):
        if strange := shortening.borrowed(tree, names):
            raise ValueError(
                f"{path} uses {', '.join(sorted(strange))}: private in another module, or a way "
                "to names as texts; each module is given short names of its own, so they would "
                "not meet. Make the name public, or do without"
            )
        if wrong := meaning.changed(path, tree, known):
            raise ValueError(
                f"{path} has {wrong[0]}; pressed it would mean something else, and only a board "
                "would notice. Write it in another way"
            )
        own = known[path]
        dropped = own if path[5:-3] in JOINED else [name for name in own if name.startswith("_")]
        trees[path] = folding.folded(_plain(tree), path, known, dropped)
        if path != "edge/words.py":
            trees[path] = wording.moved(trees[path], words, path.count("/") - 1)
        outside = path[5:-3] not in JOINED  # an owner's driver may call what is for drivers
        trees[path] = shortening.shortened(trees[path], given, outside)
    if LOADING in trees:
        trees[LOADING] = ast.parse(LOAD)
    out = {path: text for path, text in sources.items() if path == WHOLE}
    for path, tree in joining.joined(trees, JOINED, known).items():
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
