"""Whole numbers that have a name in the source, written where they are used.

On a board each name of a module takes memory for as long as the module is there.
"""

import ast
import operator
from collections.abc import Callable, Collection, Mapping

LARGEST = 1 << 30  # below it a number takes no memory of its own on a board with 32-bit words
SUMS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.LShift: operator.lshift,
}
Constants = dict[str, int]


def constants(tree: ast.Module, but: Collection[str] = ()) -> Constants:
    """Return the names that a module gives to whole numbers, once and for all."""
    stored: dict[str, int] = {}
    for node in ast.walk(tree):
        name = ""
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            name = node.id
        elif isinstance(node, ast.arg):
            name = node.arg
        elif isinstance(node, ast.alias):
            name = node.asname or node.name
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = node.name
        elif isinstance(node, ast.ExceptHandler):
            name = node.name or ""
        stored[name] = stored.get(name, 0) + 1
    found: Constants = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name, value = node.targets[0].id, _number(node.value, found)
            if (
                len(node.targets) == 1
                and value is not None
                and stored[name] == 1
                and name not in but
            ):
                found[name] = value
    return found


def renamed(tree: ast.Module) -> set[str]:
    """Return what a module imports under a name of its own, or hands on: it must stay a name."""
    return {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname is not None
    }


def folded(
    tree: ast.Module, path: str, known: Mapping[str, Constants], dropped: Collection[str]
) -> ast.Module:
    """Return a module with numbers in place of its own constants and those of others.

    path: of the module, such as edge/board/net.py. known: the constants of each by its path.
    dropped: those that nobody asks this module for, so it need not have them at all.
    """
    own = dict(known[path])
    modules: dict[str, Constants] = {}
    for node in list(ast.walk(tree)):
        if isinstance(node, ast.ImportFrom) and node.level:
            folder = "/".join(path.split("/")[: -node.level])
            if node.module:
                there = known.get(f"{folder}/{node.module.replace('.', '/')}.py", {})
                for alias in list(node.names):
                    if alias.name in there and alias.asname is None:
                        own[alias.name] = there[alias.name]
                        node.names.remove(alias)
            else:
                for alias in node.names:
                    there = known.get(f"{folder}/{alias.name}.py", {})
                    modules[alias.asname or alias.name] = there
    _Folder(own, modules, dropped).visit(tree)
    return ast.fix_missing_locations(tree)


class _Folder(ast.NodeTransformer):
    def __init__(
        self, own: Constants, modules: dict[str, Constants], dropped: Collection[str]
    ) -> None:
        self._own = own
        self._modules = modules
        self._dropped = dropped

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        return node if node.names else None

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        target = node.targets[0]
        if isinstance(target, ast.Name) and target.id in self._dropped:
            return None
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if isinstance(node.ctx, ast.Load) and node.id in self._own:
            return ast.Constant(self._own[node.id])
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.attr in self._modules.get(node.value.id, {}):
            return ast.Constant(self._modules[node.value.id][node.attr])
        return self.generic_visit(node)


def _number(node: ast.expr, known: Constants) -> int | None:
    """Return the whole number that an expression is, if it is a small one."""
    value: int | None = None
    if isinstance(node, ast.Constant) and type(node.value) is int:
        value = node.value
    elif isinstance(node, ast.Name):
        value = known.get(node.id)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _number(node.operand, known)
        value = None if value is None else -value
    elif isinstance(node, ast.BinOp) and type(node.op) in SUMS:
        left, right = _number(node.left, known), _number(node.right, known)
        if left is not None and right is not None and abs(right) < LARGEST:
            value = SUMS[type(node.op)](left, right)
    return value if value is not None and abs(value) < LARGEST else None
