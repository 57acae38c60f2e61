"""Which names in a module's text are the module's own, and which a function's."""

import ast
from collections.abc import Callable

Rename = Callable[[str], ast.expr | None]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def locals_of(scope: ast.AST) -> set[str]:
    """Return the names that a function, a comprehension or a class makes for itself."""
    found: set[str] = set()
    shared: set[str] = set()
    if isinstance(scope, FUNCTIONS):
        args = scope.args
        for arg in [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]:
            if arg is not None:
                found.add(arg.arg)
    todo = list(ast.iter_child_nodes(scope))
    while todo:
        node = todo.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
            continue
        if isinstance(node, ast.Lambda) or (
            node is not scope and isinstance(node, COMPREHENSIONS)
        ):
            continue
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found.add(node.name)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.Global):
            shared.update(node.names)
        todo.extend(ast.iter_child_nodes(node))
    return found - shared


class Renamer(ast.NodeTransformer):
    """Gives what stands for a module's own names; those of functions and classes stay.

    whole(dotted): what stands for a name such as `wire.topic`, or for `topic`, or None.
    """

    def __init__(self, whole: Rename) -> None:
        self._whole = whole
        self._hidden: list[set[str]] = []

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, FUNCTIONS):
            return self._function(node)
        if isinstance(node, COMPREHENSIONS):
            return self._within(node, locals_of(node))
        if isinstance(node, ast.ClassDef):
            node.bases = [self.visit(base) for base in node.bases]  # type: ignore[misc]
            # Its names hide nothing within its functions, and nothing here needs them to.
            node.body = [self.visit(part) for part in node.body]  # type: ignore[misc]
            return node
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if not self._is_hidden(node.value.id):
                return self._whole(f"{node.value.id}.{node.attr}") or self.generic_visit(node)
            return node
        if isinstance(node, ast.Name) and not self._is_hidden(node.id):
            found = self._whole(node.id)
            if isinstance(found, ast.Name):
                return ast.copy_location(ast.Name(found.id, node.ctx), node)
        return self.generic_visit(node)

    def _function(self, node: ast.AST) -> ast.AST:
        assert_ = node.args  # type: ignore[attr-defined]
        assert_.defaults = [self.visit(part) for part in assert_.defaults]
        assert_.kw_defaults = [part and self.visit(part) for part in assert_.kw_defaults]
        self._hidden.append(locals_of(node))
        if isinstance(node, ast.Lambda):
            node.body = self.visit(node.body)  # type: ignore[assignment]
        else:
            node.body = [self.visit(part) for part in node.body]  # type: ignore[attr-defined]
        self._hidden.pop()
        if not isinstance(node, ast.Lambda):
            listed = node.decorator_list  # type: ignore[attr-defined]
            node.decorator_list = [self.visit(part) for part in listed]  # type: ignore[attr-defined]
        return node

    def _within(self, node: ast.AST, hidden: set[str]) -> ast.AST:
        self._hidden.append(hidden)
        self.generic_visit(node)
        self._hidden.pop()
        return node

    def _is_hidden(self, name: str) -> bool:
        return any(name in names for names in self._hidden)
