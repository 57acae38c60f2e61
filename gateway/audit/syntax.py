"""What the rules over source text are made of: a search over the tree, told line by line."""

import ast
import functools
from collections.abc import Callable, Iterator

Found = Iterator[tuple[int, str]]


def listed(search: Callable[[ast.AST], Found]) -> Callable[[str], list[str]]:
    """Return the rule over source text that looks at each node of its tree by this search."""

    def rule(source: str) -> list[str]:
        found = {pair for node in ast.walk(ast.parse(source)) for pair in search(node)}
        return [f"line {line}: {why}" for line, why in sorted(found)]

    return functools.update_wrapper(rule, search, ("__name__", "__doc__"), ())


def modules(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield (line, module) for whatever this node imports from outside its package."""
    match node:
        case ast.Import(names=names):
            yield from ((node.lineno, alias.name) for alias in names)
        case ast.ImportFrom(module=str(module), level=0):
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)
        case ast.Call(func=ast.Name(id="__import__" | "exec" | "eval" | "compile")):
            yield node.lineno, "something that only running it would tell"


def barred(node: ast.AST, names: set[str]) -> Found:
    """Yield every import of one of these modules, and what hides which it imports."""
    for line, name in modules(node):
        if name.partition(".")[0] in names or " " in name:
            yield line, f"import of {name}"
