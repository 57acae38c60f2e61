"""The modules that every device loads, as one: `edge.core`.

Each module takes memory for itself, for its names and for what it imports of others. In place of
one that went into the core there is a stub, for whoever asks for it by its name. All that is in
the release asks the core.
"""

import ast
from collections.abc import Mapping, Sequence

from .scopes import Renamer, defined, faults, hidden, in_order, without_empty
from .shortening import ARGUMENTS, cheap, variables_of

CORE = "edge/core.py"
Trees = dict[str, ast.Module]


def joined(
    trees: Mapping[str, ast.Module], names: Sequence[str], known: Mapping[str, Mapping[str, int]]
) -> Trees:
    """Return the modules with those of these names in the core, and their stubs.

    known: the numbers that were folded away, by the path of the module that had them.
    """
    inner = {name: trees[f"edge/{name}.py"] for name in names}
    core = _Core(inner, {path: tree for path, tree in trees.items() if path[5:-3] not in names})
    out = {
        path: core.asking(path, tree) for path, tree in trees.items() if path[5:-3] not in names
    }
    out[CORE] = core.tree()
    for name in names:
        out[f"edge/{name}.py"] = core.stub(name, known[f"edge/{name}.py"])
    return {path: ast.fix_missing_locations(tree) for path, tree in out.items()}


class _Core:
    """The names of what is joined: `made[module][name]` is what it is called in the core."""

    def __init__(self, inner: Mapping[str, ast.Module], outer: Mapping[str, ast.Module]) -> None:
        self._inner = dict(inner)
        self._handed: dict[str, dict[str, str]] = {name: {} for name in inner}
        self._objects: dict[str, str] = {}  # modules that are used as a value
        trees_ = [*inner.values(), *outer.values()]
        taken = {name for tree in trees_ for name in variables_of(tree)}
        asked = {
            alias.name
            for path, tree in outer.items()
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.level == path.count("/")
            for alias in node.names
            if node.module in inner
        }
        own = {name: defined(tree) for name, tree in inner.items()}
        shadowed = {name for tree in trees_ for name in hidden(tree)}
        kept = {
            name
            for name in asked
            if sum(name in names for names in own.values()) == 1 and name not in shadowed
        }
        self._shorts = cheap(taken, ARGUMENTS)
        raised = {module: faults(tree) for module, tree in inner.items()}

        def called(module: str, name: str) -> str:
            if name in kept:
                return name
            # What is raised is named in texts.
            return module.title() + name if name in raised[module] else next(self._shorts)

        self._made = {
            module: {name: called(module, name) for name in sorted(names)}
            for module, names in own.items()
        }

    def asking(self, path: str, tree: ast.Module) -> ast.Module:
        """Return a module that asks the core for what was joined."""
        depth = path.count("/")
        wanted: set[str] = set()
        for node in list(ast.walk(tree)):
            if not isinstance(node, ast.ImportFrom) or node.level != depth:
                continue
            if node.module in self._inner:
                names = self._made[node.module]
                for alias in node.names:
                    alias.name, alias.asname = names[alias.name], alias.asname or alias.name
                node.module = "core"
            elif not node.module:
                node.names = [alias for alias in node.names if alias.name not in self._inner]
                wanted.add("")  # something of a module as a whole may follow
        if wanted:
            found: set[str] = set()
            tree = self._renamed(tree, {name: name for name in self._inner}, found)
            if found:
                names_ = [ast.alias(name) for name in sorted(found)]
                tree.body.insert(0, ast.ImportFrom("core", names_, depth))
        return without_empty(tree)

    def tree(self) -> ast.Module:
        """Return the core: imports from elsewhere, then each module after what it needs."""
        bodies, outside = [], {}
        for name in in_order(self._inner):
            tree = self._inner[name]
            known = dict(self._made[name])
            modules = {}
            for node in list(ast.walk(tree)):
                if isinstance(node, ast.ImportFrom) and node.level == 1:
                    for alias in list(node.names):
                        if node.module in self._inner:
                            known[alias.asname or alias.name] = self._made[node.module][alias.name]
                            if alias.asname == alias.name:
                                self._handed[name][alias.name] = known[alias.name]
                            node.names.remove(alias)
                        elif not node.module and alias.name in self._inner:
                            modules[alias.asname or alias.name] = alias.name
                            node.names.remove(alias)
            body = []
            for part in without_empty(tree).body:
                if isinstance(part, ast.Import | ast.ImportFrom):
                    outside[ast.unparse(part)] = part
                else:
                    body.append(part)
            whole = self._renamed(ast.Module(body, []), modules, set(), known)
            for part in whole.body:
                if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    part.name = self._made[name][part.name]
            bodies.append((name, whole.body))
        first: list[ast.stmt] = list(outside.values())
        for name, body in bodies:
            first += body
            if name in self._objects:
                first.append(self._object(name))
        return ast.Module(first, [])

    def stub(self, name: str, numbers: Mapping[str, int]) -> ast.Module:
        """Return what stands in a module's place: its public names, and what it hands on."""
        made = {**self._made[name], **self._handed[name]}
        names = [ast.alias(made[own], own) for own in sorted(made) if not own.startswith("_")]
        body: list[ast.stmt] = [ast.ImportFrom("core", names, 1)] if names else []
        for own, number in sorted(numbers.items()):
            body.append(ast.Assign([ast.Name(own, ast.Store())], ast.Constant(number)))
        return ast.Module(body, [])

    def _renamed(
        self,
        tree: ast.Module,
        modules: Mapping[str, str],
        found: set[str],
        known: Mapping[str, str] | None = None,
    ) -> ast.Module:
        def whole(dotted: str) -> ast.expr | None:
            name, dot, attribute = dotted.partition(".")
            if name in modules and attribute in self._made[modules[name]]:
                found.add(self._made[modules[name]][attribute])
                return ast.Name(self._made[modules[name]][attribute], ast.Load())
            if dot:
                return None
            if known and name in known:
                return ast.Name(known[name], ast.Load())
            if known is not None and name in modules:
                module = modules[name]
                if module not in self._objects:
                    self._objects[module] = next(self._shorts)
                return ast.Name(self._objects[module], ast.Load())
            return None

        renamed = Renamer(whole).visit(tree)
        assert isinstance(renamed, ast.Module)  # noqa: S101
        return renamed

    def _object(self, name: str) -> ast.ClassDef:
        """Return what stands for a module where it is a value: a class with its names."""
        body: list[ast.stmt] = [
            ast.Assign([ast.Name(own, ast.Store())], ast.Name(made, ast.Load()))
            for own, made in sorted(self._made[name].items())
            if not own.startswith("_")
        ]
        return ast.ClassDef(self._objects[name], [], [], body, [])
