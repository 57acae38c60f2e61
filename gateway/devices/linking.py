"""The modules that every device loads, made into one for a release: each takes a board heap.

A module of its own costs a board some 450 bytes: its names, its path, its table of what it uses,
and what it imports. So `link_modules` puts the text of all of them into edge/linked.py, one behind
the other, and whoever of edge imports from one of them imports from there. What a module had is
called `_module_name` then, which `bundle.shorten_names` makes short; a class keeps its name, which
may be said in a log. In the place of each stays a module that imports its public names from
edge/linked: for who asks for it by its own name on a board, such as a self-test. No device does.

The order of statements in a module, and of the modules, is that in which they would be loaded.
"""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping

# Each behind those that it imports when it is loaded. `compat` is not one of them: what chooses a
# release needs it before anything of a release is loaded.
LINKED = {
    "edge/linked.py": (
        "edge/core/records.py",
        "edge/core/wire.py",
        "edge/core/entropy.py",
        "edge/core/noise.py",
        "edge/core/budget.py",
        "edge/core/node.py",
        "edge/net/link.py",
        "edge/net/ticker.py",
        "edge/net/mqtt.py",
        "edge/net/device.py",
        "edge/net/ring.py",
    ),
    "edge/board/linked.py": (
        "edge/core/pixels.py",
        "edge/net/tls.py",
        "edge/board/sensors/bus.py",
        "edge/board/binding.py",
        "edge/board/drivers.py",
        "edge/board/assemble.py",
        "edge/board/led.py",
        "edge/board/power.py",
        "edge/board/net.py",
        "edge/board/start.py",
    ),
}
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_NUMBERS = (ast.Constant, ast.BinOp, ast.operator, ast.UnaryOp, ast.USub)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def link_modules(trees: dict[str, ast.Module]) -> None:
    """Put the modules that every device loads into one, in place; docstrings are gone already.

    Raises:
        ValueError: one of them does what would mean something else afterwards.
    """
    for linked, paths in LINKED.items():
        parts = {path: trees[path] for path in paths if path in trees}
        if not parts:
            continue
        names = _name_all(parts)
        body: list[ast.stmt] = []
        for path, tree in parts.items():
            body += _move(path, linked, tree, names, body)
            trees[path] = ast.Module(_export(path, linked, names[path]), [])
        for path, tree in trees.items():
            if path not in parts:
                _redirect(path, linked, tree, names)
        trees[linked] = ast.Module(body, [])
        _refuse_two(linked, body)
    for tree in trees.values():
        ast.fix_missing_locations(tree)


def _refuse_two(path: str, body: list[ast.stmt]) -> None:
    """Raise ValueError where one name of a linked module is made twice, of different things."""
    meant = {node.name: "" for node in body if isinstance(node, ast.ClassDef)}
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for one in node.names:
                what = f"{getattr(node, 'module', '')} {one.name}"
                if meant.setdefault(one.asname or one.name, what) != what:
                    raise ValueError(f"{path} would import two things as {one.asname or one.name}")


# Of each module: its own names, and what they are called; or the whole number that one stands for.
Names = Mapping[str, Mapping[str, str | int]]


def _name_all(parts: Mapping[str, ast.Module]) -> Names:
    taken: set[str] = set()
    found: dict[str, dict[str, str | int]] = {}
    for path, tree in parts.items():
        found[path] = dict(_take_numbers(tree))
        for name, is_class in _list_own(tree):
            new = name if is_class and name not in taken else f"_{_stem(path)}_{name}"
            taken.add(new)
            found[path][name] = new
    return found


def _take_numbers(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield each name of a module that stands for one whole number; its statement is gone then."""
    made = Counter(name for name, _ in _list_own(tree))
    for node in list(tree.body):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            only = all(isinstance(part, _NUMBERS) for part in ast.walk(node.value))
            if only and made[name] == len(node.targets) == 1:
                value = eval(ast.unparse(node.value))
                if type(value) is int:
                    tree.body.remove(node)
                    yield name, value


def _list_own(tree: ast.Module) -> Iterator[tuple[str, bool]]:
    """Yield each name that a module makes itself, and whether it is a class."""
    for node in _in_scope(tree.body):
        if isinstance(node, ast.ClassDef | _Function):
            yield node.name, isinstance(node, ast.ClassDef)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.id[0].isupper() and not node.id.isupper()  # a record
        elif isinstance(node, ast.ImportFrom) and node not in tree.body:
            # One way of several to have it: it is this module's, as `link` has a `sleep_ms`.
            yield from ((one.asname or one.name, False) for one in node.names)


def _in_scope(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Yield what stands in this scope itself: in no function, class or comprehension of it."""
    left: list[ast.AST] = list(body)
    while left:
        node = left.pop(0)
        yield node
        if not isinstance(node, (*_SCOPES, *_COMPREHENSIONS)):
            left += ast.iter_child_nodes(node)


def _move(
    path: str, linked: str, tree: ast.Module, names: Names, before: list[ast.stmt]
) -> list[ast.stmt]:
    """Return the statements of a module as they stand in the linked one, behind those before."""
    renamer = _Renamer(path, dict(names[path]))
    had = [ast.unparse(node) for node in before if isinstance(node, ast.Import | ast.ImportFrom)]
    kept = []
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.level:
            outside = renamer.learn(node, names)
            if not outside:
                continue
            node.names = outside
        kept.append(node)
    out = []
    for node in kept:
        node = renamer.visit(node)
        for inner in ast.walk(node):
            if isinstance(inner, ast.ImportFrom) and inner.level:
                base = _find_base(path, inner)
                if any(
                    _module(base, *one) in names for one in [(), *[(a.name,) for a in inner.names]]
                ):
                    raise ValueError(
                        f"{path} imports a part of {linked} in a function or a branch"
                    )
                inner.level, inner.module = linked.count("/"), ".".join(base[1:]) or None
        if not (isinstance(node, ast.Import | ast.ImportFrom) and ast.unparse(node) in had):
            out.append(node)
    return out


def _redirect(path: str, linked: str, tree: ast.Module, names: Names) -> None:
    """Let a module outside import from the linked one what it has of its parts."""
    renamer = _Renamer(path, {})
    up, there = path.count("/"), _dotted(linked)
    body: list[ast.stmt] = []
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.level:
            base = _find_base(path, node)
            part = _module(base)
            if part in names:
                pairs = [(names[part][one.name], one.asname or one.name) for one in node.names]
                renamer.names.update((had, new) for new, had in pairs if isinstance(new, int))
                shown = [one.name for one in node.names if one.name == one.asname]
                body += [
                    _give(had, new) for new, had in pairs if had in shown and type(new) is int
                ]
                own = [ast.alias(new, had) for new, had in pairs if isinstance(new, str)]
                if not own:
                    continue
                node = ast.ImportFrom(there, own, up)
            elif any(_module(base, one.name) in names for one in node.names):
                node.names = renamer.learn(node, names)
                if not node.names:
                    continue
        body.append(node)
    tree.body = [renamer.visit(node) for node in body]
    if renamer.asked:
        own = [ast.alias(name) for name in renamer.asked]
        tree.body.insert(0, ast.ImportFrom(there, own, up))
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for inner in ast.walk(tree):  # in a function: of who has it loaded, and uses none of it
        if isinstance(inner, ast.ImportFrom) and inner not in tree.body and inner.level:
            base, asked = _find_base(path, inner), [one.name for one in inner.names]
            if all(_module(base, name) in names and name not in used for name in asked):
                inner.module = there.rpartition(".")[0] or None
                inner.names, inner.level = [ast.alias("linked")], up


def _export(path: str, linked: str, own: Mapping[str, str | int]) -> list[ast.stmt]:
    """Return what stays in the place of a module."""
    out: list[ast.stmt] = []
    for name, new in own.items():
        if isinstance(new, int) and name[0] != "_":
            out.append(_give(name, new))
    shown = [ast.alias(new, name) for name, new in own.items() if isinstance(new, str)]
    shown = [one for one in shown if one.asname and one.asname[0] != "_"]
    return [*out, ast.ImportFrom(_dotted(linked), shown, path.count("/"))]


def _give(name: str, value: int) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], ast.Constant(value))


class _Renamer(ast.NodeTransformer):
    """Gives the names of a module's own scope, and what it has of other parts, their new names."""

    def __init__(self, path: str, names: dict[str, str | int]):
        self.asked: dict[str, None] = {}  # what was had of other parts by their name
        self.names = names
        self._path = path
        self._parts: dict[str, Mapping[str, str | int]] = {}
        self._hidden: list[set[str]] = []  # by the functions around

    def learn(self, node: ast.ImportFrom, names: Names) -> list[ast.alias]:
        """Take in what an import has of the parts; return the rest of what it imports."""
        base, outside = _find_base(self._path, node), []
        for one in node.names:
            bound = one.asname or one.name
            if _module(base) in names:
                self.names[bound] = names[_module(base)][one.name]
            elif _module(base, one.name) in names:
                self._parts[bound] = names[_module(base, one.name)]
            else:
                outside.append(one)
        return outside

    def _meant(self, name: str) -> bool:
        return not any(name in own for own in self._hidden)

    def _new(self, name: str) -> str:
        """Return how what is made here under a name is called."""
        return str(self.names.get(name, name)) if self._meant(name) else name

    def _seen(self, new: str) -> str:
        if not self._meant(new):
            raise ValueError(f"{self._path} has {new} in a function, and a linked module has it")
        return new

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if self._meant(node.id):
            if node.id in self._parts:
                raise ValueError(f"{self._path} uses {node.id}, a linked module, as a value")
            new = self.names.get(node.id, node.id)
            if isinstance(new, str):
                node.id = self._seen(new)
            elif isinstance(node.ctx, ast.Load):
                return ast.Constant(new)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        held = node.value
        if isinstance(held, ast.Name) and held.id in self._parts and self._meant(held.id):
            new = self._parts[held.id][node.attr]
            if isinstance(new, int):
                return ast.Constant(new)
            self.asked[new] = None
            return ast.Name(self._seen(new), node.ctx)
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def _function(self, node: _Function, in_class: bool = False) -> ast.AST:
        if not in_class:
            node.name = self._new(node.name)
        node.decorator_list = [self.visit(part) for part in node.decorator_list]
        self._within(node.args, node.body, _find_local(node))
        return node

    def _within(self, args: ast.arguments, body: list[ast.stmt], local: set[str]) -> None:
        self.visit(args)  # its defaults, which are of the scope around
        self._hidden.append(local)
        body[:] = [self.visit(part) for part in body]
        self._hidden.pop()

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self.visit(node.args)
        self._hidden.append({one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)})
        node.body = self.visit(node.body)
        self._hidden.pop()
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.name = self._new(node.name)
        node.bases = [self.visit(part) for part in node.bases]
        own = {name for name, _ in _list_own(ast.Module(node.body, []))}
        for part in node.body:
            if isinstance(part, _Function):
                self._function(part, in_class=True)
            else:
                self._hidden.append(own)
                self.visit(part)
                self._hidden.pop()
        return node

    def _comprehension(self, node: ast.AST, generators: list[ast.comprehension]) -> ast.AST:
        first = generators[0]
        first.iter = self.visit(first.iter)
        held, first.iter = first.iter, ast.Constant(None)
        targets = [part for one in generators for part in ast.walk(one.target)]
        self._hidden.append({part.id for part in targets if isinstance(part, ast.Name)})
        self.generic_visit(node)
        self._hidden.pop()
        first.iter = held
        return node

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        return self._comprehension(node, node.generators)

    def visit_SetComp(self, node: ast.SetComp) -> ast.AST:
        return self._comprehension(node, node.generators)

    def visit_DictComp(self, node: ast.DictComp) -> ast.AST:
        return self._comprehension(node, node.generators)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        return self._comprehension(node, node.generators)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        for one in node.names:
            bound = one.asname or one.name
            if self._new(bound) != bound:
                one.asname = self._new(bound)
        return node


def _find_local(node: _Function) -> set[str]:
    """Return the names that are a function's own."""
    found = {one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)}
    for part in _in_scope(node.body):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            found.add(part.id)
        elif isinstance(part, ast.ClassDef | _Function | ast.ExceptHandler):
            found.update(filter(None, [part.name]))
        elif isinstance(part, ast.Import | ast.ImportFrom):
            found.update(one.asname or one.name for one in part.names)
    return found


def _stem(path: str) -> str:
    return path.rpartition("/")[2][:-3]


def _dotted(path: str) -> str:
    return path[:-3].partition("/")[2].replace("/", ".")


def _find_base(path: str, node: ast.ImportFrom) -> list[str]:
    parts = [*path.split("/")[: -node.level], *(node.module or "").split(".")]
    return [part for part in parts if part]


def _module(base: list[str], *more: str) -> str:
    return "/".join([*base, *more]) + ".py"
