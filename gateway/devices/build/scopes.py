"""Which names in a module's text are the module's own, and which a function's."""

import ast
from collections.abc import Callable, Mapping

Rename = Callable[[str], ast.expr | None]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
SCOPES = (*FUNCTIONS, *COMPREHENSIONS, ast.ClassDef)


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
        arguments = node.args  # type: ignore[attr-defined]
        arguments.defaults = [self.visit(part) for part in arguments.defaults]
        arguments.kw_defaults = [part and self.visit(part) for part in arguments.kw_defaults]
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


def defined(tree: ast.Module) -> set[str]:
    """Return the names that a module makes itself."""
    return locals_of(tree) - imported(tree)


def faults(tree: ast.Module) -> set[str]:
    """Return the exceptions that a module makes: its classes that are based on others."""
    return {node.name for node in tree.body if isinstance(node, ast.ClassDef) and node.bases}


def imported(tree: ast.AST) -> set[str]:
    """Return what a text imports, by the names that it has there."""
    return {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }


def hidden(tree: ast.Module) -> set[str]:
    """Return what functions call their own, but for what they import."""
    scopes = [node for node in ast.walk(tree) if isinstance(node, SCOPES)]
    return {name for scope in scopes for name in locals_of(scope) - imported(scope)}


def without_empty(tree: ast.Module) -> ast.Module:
    """Return a module without imports of nothing."""

    class Dropper(ast.NodeTransformer):
        def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
            return node if node.names else None

    dropped = Dropper().visit(tree)
    for node in ast.walk(dropped):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.body:
            node.body = [ast.Pass()]
    return dropped


def in_order(trees: Mapping[str, ast.Module]) -> list[str]:
    """Return modules of one folder, each after those that it needs when it is loaded."""
    order: list[str] = []

    def add(name: str) -> None:
        if name in order or name not in trees:
            return
        for node in trees[name].body:
            if isinstance(node, ast.ImportFrom) and node.level == 1:
                for other in [node.module] if node.module else [part.name for part in node.names]:
                    add(other)
        order.append(name)

    for name in trees:
        add(name)
    return order
