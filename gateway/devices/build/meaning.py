"""What pressing would change the meaning of without noticing: found, so that it can be refused.

Pressing goes by the text of a module alone: it knows no `global`, takes a name of a module for
what the module says it is, and short names for arguments are none that a dict could give.
"""

import ast
from collections.abc import Mapping

from .folding import Constants
from .scopes import SCOPES, imported, locals_of

BY_TEXT = {"getattr", "setattr", "hasattr", "delattr"}


def changed(path: str, tree: ast.Module, known: Mapping[str, Constants]) -> list[str]:
    """Return what must not be in a module, in a few words each; nothing where all is well.

    known: the numbers that are folded away, by the path of the module that has them.
    """
    modules, numbers = _asked(path, tree, known)
    found = [f"a name {name} in a class and in the module" for name in _twice(tree)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Global | ast.Nonlocal):
            found.append(f"{type(node).__name__.lower()} {', '.join(node.names)}")
        elif isinstance(node, ast.Call):
            found += _called(node, modules)
        elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            if isinstance(node.value, ast.Name) and node.value.id in modules:
                found.append(f"another value for {ast.unparse(node)}")
        elif isinstance(node, SCOPES):
            hidden = locals_of(node) - imported(node)
            found += [f"a name {name} for something else" for name in sorted(hidden & numbers)]
            for part in ast.walk(node):
                if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
                    name = part.value.id
                    if name in hidden and part.attr in modules.get(name, {}):
                        found.append(f"{ast.unparse(part)}, and {name} is no module there")
    return sorted(set(found))


def _asked(
    path: str, tree: ast.Module, known: Mapping[str, Constants]
) -> tuple[dict[str, Constants], set[str]]:
    """Return the modules of ours that a text imports, and the numbers, by their names there."""
    modules: dict[str, Constants] = {}
    numbers = set(known.get(path, {}))
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        folder = "/".join(path.split("/")[: -node.level])
        for alias in node.names:
            if not node.module:
                there = known.get(f"{folder}/{alias.name}.py", {})
                modules[alias.asname or alias.name] = there
            elif alias.name in known.get(f"{folder}/{node.module.replace('.', '/')}.py", {}):
                numbers.add(alias.asname or alias.name)
    return modules, numbers


def _called(node: ast.Call, modules: Mapping[str, Constants]) -> list[str]:
    """Return what is wrong with a call: names that come as texts, or out of a dict."""
    to = node.func
    if isinstance(to, ast.Name) and to.id in BY_TEXT:
        word = node.args[1] if len(node.args) > 1 else None
        if isinstance(word, ast.BinOp | ast.JoinedStr | ast.Call):
            return [f"a name that is put together: {ast.unparse(node)}"]
    ours = isinstance(to, ast.Name) or (
        isinstance(to, ast.Attribute)
        and (
            to.attr.startswith("_")
            or (isinstance(to.value, ast.Name) and to.value.id in {*modules, "self"})
        )
    )
    if ours and any(word.arg is None for word in node.keywords):
        return [f"arguments out of a dict: {ast.unparse(node)}"]
    return []


def _twice(tree: ast.Module) -> list[str]:
    """Return the names that a class gives to values, and that its module has too."""
    own = locals_of(tree)
    return sorted(
        name.id
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for part in node.body
        if isinstance(part, ast.Assign | ast.AnnAssign | ast.AugAssign)
        for name in ast.walk(part)
        if isinstance(name, ast.Name) and not isinstance(name.ctx, ast.Load) and name.id in own
    )
