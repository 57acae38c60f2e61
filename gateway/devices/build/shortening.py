"""Names that cost a board nothing, for what nobody outside a module calls by its name.

A board keeps one copy of each different name in memory, but for those that its firmware has in
flash, as each has the methods of lists and texts. So private names (`_drawn`), and arguments that
are only ever given by place, are called by these: what says `index` has nothing to do with one.
"""

import ast
from collections.abc import Iterator
from itertools import count

from .scopes import FUNCTIONS, locals_of

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


def keywords(tree: ast.Module) -> set[str]:
    """Return the arguments that a module gives by name."""
    return {node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg}


def private(tree: ast.Module) -> set[str]:
    """Return the private names that a module makes, for itself and for its objects."""
    made = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load)
    }
    return _private(made | _methods(tree) | locals_of(tree))


def borrowed(tree: ast.Module, others: set[str]) -> set[str]:
    """Return what a module must not use: others' private names, and names as texts or by call."""
    constants = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    texts = {value for value in constants if isinstance(value, str)}
    called = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} & BY_NAME
    return (_private(_attributes(tree)) - private(tree) | texts) & others | called


def shortened(tree: ast.Module, given: set[str], outside: bool = False) -> ast.Module:
    """Return a module with short names.

    given: the arguments that anybody gives by name. outside: whether others than we call its
    functions, who may give any of them so. Who makes an object may do so anywhere.
    """
    for node in list(ast.walk(tree))[::-1]:  # inner functions first
        if isinstance(node, FUNCTIONS):
            name = "_" if isinstance(node, ast.Lambda) else node.name
            if name != "__init__" and (name.startswith("_") or not outside):
                _arguments(node, tree, given)
    variables = sorted(_private(locals_of(tree)))
    attributes = sorted(private(tree) & (_attributes(tree) | _methods(tree)))
    _Private(
        dict(zip(variables, cheap(variables_of(tree), ARGUMENTS), strict=False)),
        dict(zip(attributes, cheap(_attributes(tree) | _methods(tree)), strict=False)),
    ).visit(tree)
    return tree


def cheap(taken: set[str], but: int = 0) -> Iterator[str]:
    """Yield names that are not taken, those first that cost nothing; but: so many are left out."""
    more = (f"{letter}{number}" for number in count() for letter in "abcdefghijklmnopqrstuvwxyz")
    for names in (THERE[but:], more):
        yield from (name for name in names if name not in taken)


def variables_of(tree: ast.AST) -> set[str]:
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
        for name in locals_of(node)
    }


def _arguments(function: Function, tree: ast.Module, given: set[str]) -> None:
    """Give short names to the arguments of one function that are given by place."""
    arguments = function.args
    placed = arguments.args[: len(arguments.args) - len(arguments.defaults)]
    names = [arg.arg for arg in placed if arg.arg != "self" and arg.arg not in given]
    inner = [node for node in ast.walk(function) if isinstance(node, FUNCTIONS)][1:]
    hidden = {name for node in inner for name in locals_of(node)}  # it is another one there
    names = [name for name in names if name not in hidden]
    shorts = cheap(variables_of(function) | locals_of(tree))
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
