"""Short names for what nobody outside a module calls by its name.

A board keeps one copy of each different name in memory. So every module is given the same few
short ones: for its private names (`_drawn`), and for arguments that are only ever given by place.
"""

import ast
from collections.abc import Iterator
from itertools import count
from string import ascii_lowercase

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def keywords(tree: ast.Module) -> set[str]:
    """Return the arguments that a module gives by name."""
    return {node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg}


def private(tree: ast.Module) -> set[str]:
    """Return the private names that a module makes: of functions, attributes and variables."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            found.add(node.attr)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.alias):
            found.add(node.asname or "")
    return {name for name in found if name.startswith("_") and not name.startswith("__")}


def borrowed(tree: ast.Module, others: set[str]) -> set[str]:
    """Return the private names of other modules that this one uses: it must not."""
    return (_mentioned(tree) - private(tree)) & others


def shortened(tree: ast.Module, given: set[str]) -> ast.Module:
    """Return a module with short names; given: the arguments that anybody gives by name."""
    for node in list(ast.walk(tree))[::-1]:  # inner functions first
        if isinstance(node, FUNCTIONS):
            _arguments(node, tree, given)
    own = sorted(private(tree))
    shorts = (f"_{short}" for short in _shorts())
    _Renamer({name: next(shorts) for name in own}).visit(tree)
    return tree


def _arguments(function: Function, tree: ast.Module, given: set[str]) -> None:
    """Give short names to the arguments of one function that are given by place."""
    arguments = function.args
    placed = arguments.args[: len(arguments.args) - len(arguments.defaults)]
    names = [arg.arg for arg in placed if arg.arg != "self" and arg.arg not in given]
    fixed = {arg.arg for node in ast.walk(function) for arg in _arguments_of(node)} - set(names)
    taken = _mentioned(function) | fixed | _globals(tree)
    shorts = (short for short in _shorts() if short not in taken - set(names))
    renamed = {}
    for name in names:
        short = next(shorts)
        while short in names:  # it may be another's old name, which is still in the text
            short = next(shorts)
        renamed[name] = short
    inner = {
        arg.arg
        for node in ast.walk(function)
        if node is not function
        for arg in _arguments_of(node)
    }
    for name in inner & set(renamed):
        del renamed[name]
    _Renamer(renamed, variables_only=True).visit(function)


def _arguments_of(node: ast.AST) -> list[ast.arg]:
    if not isinstance(node, FUNCTIONS):
        return []
    args = node.args
    more = [arg for arg in (args.vararg, args.kwarg) if arg]
    return [*args.posonlyargs, *args.args, *args.kwonlyargs, *more]


def _mentioned(tree: ast.AST) -> set[str]:
    """Return every name in a text, whatever it is the name of."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
    return found


def _globals(tree: ast.Module) -> set[str]:
    found = set()
    for node in tree.body:
        for part in ast.walk(node):
            if isinstance(part, ast.alias):
                found.add(part.asname or part.name)
            elif isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found.add(part.name)
    return found


def _shorts() -> Iterator[str]:
    """Yield a, b, ... z, a0, a1, ..."""
    yield from ascii_lowercase
    for number in count():
        yield f"a{number}"


class _Renamer(ast.NodeTransformer):
    def __init__(self, names: dict[str, str], variables_only: bool = False) -> None:
        self._names = names
        self._variables_only = variables_only

    def visit(self, node: ast.AST) -> ast.AST:
        self.generic_visit(node)
        for field in ("id", "arg", "name", "asname", "attr"):
            named = isinstance(getattr(node, field, None), str)
            if named and getattr(node, field) in self._names and self._meant(node, field):
                setattr(node, field, self._names[getattr(node, field)])
        if isinstance(node, ast.Global | ast.Nonlocal):
            node.names = [self._names.get(name, name) for name in node.names]
        return node

    def _meant(self, node: ast.AST, field: str) -> bool:
        if isinstance(node, ast.alias) and field == "name":
            return False  # what another module calls it
        if self._variables_only:
            return isinstance(node, ast.Name | ast.arg | ast.ExceptHandler)
        return True
