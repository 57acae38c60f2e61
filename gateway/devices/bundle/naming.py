"""What the names of a module cost a board, and how a release makes them cheap.

A board keeps every name of a module in memory while the module is there, and one copy of each
different text. So whole numbers are written where they are used, and what nobody outside calls
by its name (`_drawn`, arguments given by place) takes a name that the firmware has in flash.
"""

import ast
import operator
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import count

Rename = Callable[[str], ast.expr | None]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
SCOPES = (*FUNCTIONS, *COMPREHENSIONS, ast.ClassDef)


def find_locals(scope: ast.AST) -> set[str]:
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
            return self._within(node, find_locals(node))
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
        self._hidden.append(find_locals(node))
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


def find_defined(tree: ast.Module) -> set[str]:
    """Return the names that a module makes itself."""
    return find_locals(tree) - find_imported(tree)


def find_faults(tree: ast.Module) -> set[str]:
    """Return the exceptions that a module makes: its classes that are based on others."""
    return {node.name for node in tree.body if isinstance(node, ast.ClassDef) and node.bases}


def find_imported(tree: ast.AST) -> set[str]:
    """Return what a text imports, by the names that it has there."""
    return {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }


def find_hidden(tree: ast.Module) -> set[str]:
    """Return what functions call their own, but for what they import."""
    scopes = [node for node in ast.walk(tree) if isinstance(node, SCOPES)]
    return {name for scope in scopes for name in find_locals(scope) - find_imported(scope)}


def drop_empty(tree: ast.Module) -> ast.Module:
    """Return a module without imports of nothing."""

    class Dropper(ast.NodeTransformer):
        def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
            return node if node.names else None

    dropped = Dropper().visit(tree)
    for node in ast.walk(dropped):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.body:
            node.body = [ast.Pass()]
    return dropped


def sort_by_need(trees: Mapping[str, ast.Module]) -> list[str]:
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


LARGEST = 1 << 30  # below it a number takes no memory of its own on a board with 32-bit words
SUMS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.LShift: operator.lshift,
}
Constants = dict[str, int]


def find_constants(tree: ast.Module, but: Collection[str] = ()) -> Constants:
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


def find_renamed(tree: ast.Module) -> set[str]:
    """Return what a module imports under a name of its own, or hands on: it must stay a name."""
    return {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname is not None
    }


def fold(
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


# In the flash of every firmware, and no builtin function, nor anything that a protocol looks for.
THERE = """
    isalpha isdigit islower isspace isupper rindex rsplit lstrip setdefault fromkeys popitem
    append clear copy extend index insert pop remove reverse sort items keys update values endswith
    find format join lower replace rfind rstrip split startswith strip upper encode decode add
    discard difference intersection issubset issuperset union symmetric_difference isdisjoint end
    file sep start step argv byteorder platform version path modules maxsize stdin stdout stderr
    implementation collect disable enable isenabled mem_alloc calcsize pack pack_into unpack
    unpack_from to_bytes from_bytes sleep_us ticks_us ticks_add ticks_cpu center partition
    rpartition getter setter difference_update intersection_update popleft opt_level
    mem_info qstr_info schedule heap_lock heap_unlock addressof sizeof hexlify unhexlify
    bytearray_at bytes_at struct acos asin atan atan2 ceil copysign cos degrees floor fmod frexp
    isfinite isinf isnan ldexp modf radians sin tan trunc dump load loads match search group seed
    uniform randint randrange choice getrandbits accept bind listen recv recvfrom sendto heapify
    heappop heappush listdir ilistdir mkdir rename rmdir unlink chdir getcwd uname statvfs
""".split()  # noqa: SIM905
BY_NAME = {"globals", "locals", "vars", "exec", "eval"}  # they would find other names than these
ARGUMENTS = 10  # of them; the rest is for what a module has

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def find_keywords(tree: ast.Module) -> set[str]:
    """Return the arguments that a module gives by name."""
    return {node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg}


def find_private(tree: ast.Module) -> set[str]:
    """Return the private names that a module makes, for itself and for its objects."""
    made = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load)
    }
    return _private(made | _methods(tree) | find_locals(tree))


def find_borrowed(tree: ast.Module, others: set[str]) -> set[str]:
    """Return what a module must not use: others' private names, and names as texts or by call."""
    constants = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    texts = {value for value in constants if isinstance(value, str)}
    called = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} & BY_NAME
    return (_private(_attributes(tree)) - find_private(tree) | texts) & others | called


def shorten(tree: ast.Module, given: set[str], outside: bool = False) -> ast.Module:
    """Return a module with short names.

    given: the arguments that anybody gives by name. outside: whether others than we call its
    functions, who may give any of them so. Who makes an object may do so anywhere.
    """
    for node in list(ast.walk(tree))[::-1]:  # inner functions first
        if isinstance(node, FUNCTIONS):
            name = "_" if isinstance(node, ast.Lambda) else node.name
            if name != "__init__" and (name.startswith("_") or not outside):
                _arguments(node, tree, given)
    variables = sorted(_private(find_locals(tree)))
    attributes = sorted(find_private(tree) & (_attributes(tree) | _methods(tree)))
    _Private(
        dict(zip(variables, yield_names(find_variables(tree), ARGUMENTS), strict=False)),
        dict(zip(attributes, yield_names(_attributes(tree) | _methods(tree)), strict=False)),
    ).visit(tree)
    return tree


def yield_names(taken: set[str], but: int = 0) -> Iterator[str]:
    """Yield names that are not taken, those first that cost nothing; but: so many are left out."""
    more = (f"{letter}{number}" for number in count() for letter in "abcdefghijklmnopqrstuvwxyz")
    for names in (THERE[but:], more):
        yield from (name for name in names if name not in taken)


def find_variables(tree: ast.AST) -> set[str]:
    """Return every name of a variable, a function or an argument in a text."""
    found = set()
    for node in ast.walk(tree):
        for field in ("id", "arg", "asname", "name"):
            if isinstance(name := getattr(node, field, None), str):
                found.add(name)
    return found


def _private(names: set[str]) -> set[str]:
    return {name for name in names if name.startswith("_") and not name.startswith("__")}


def _attributes(tree: ast.AST) -> set[str]:
    return {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def _methods(tree: ast.AST) -> set[str]:
    """Return what classes make for their objects."""
    return {
        name
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for name in find_locals(node)
    }


def _arguments(function: Function, tree: ast.Module, given: set[str]) -> None:
    """Give short names to the arguments of one function that are given by place."""
    arguments = function.args
    placed = arguments.args[: len(arguments.args) - len(arguments.defaults)]
    names = [arg.arg for arg in placed if arg.arg != "self" and arg.arg not in given]
    inner = [node for node in ast.walk(function) if isinstance(node, FUNCTIONS)][1:]
    hidden = {name for node in inner for name in find_locals(node)}  # it is another one there
    names = [name for name in names if name not in hidden]
    shorts = yield_names(find_variables(function) | find_locals(tree))
    _Variables(dict(zip(names, shorts, strict=False))).visit(function)


class _Variables(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self._names.get(node.id, node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.arg = self._names.get(node.arg, node.arg)
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        node.name = self._names.get(node.name, node.name) if node.name else None
        return self.generic_visit(node)


class _Private(_Variables):
    """Renames the variables and functions of a module, and the attributes of its objects."""

    def __init__(self, variables: dict[str, str], attributes: dict[str, str]) -> None:
        super().__init__(variables)
        self._attributes = attributes

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.name = self._names.get(node.name, node.name)
        for part in node.body:
            if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
                part.name = self._attributes.get(part.name, part.name)
                self.generic_visit(part)
            else:
                self.visit(part)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name = self._names.get(node.name, node.name)
        return self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        node.name = self._names.get(node.name, node.name)
        return self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        node.attr = self._attributes.get(node.attr, node.attr)
        return self.generic_visit(node)

    def visit_alias(self, node: ast.alias) -> ast.AST:
        node.asname = self._names.get(node.asname, node.asname) if node.asname else None
        return node
