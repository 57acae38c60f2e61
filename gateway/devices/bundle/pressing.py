"""The device's modules pressed for a release: the same program in less memory.

    sentences   go to words.txt, from which `edge.words` reads them
    numbers     that have a name are written where they are used
    names       that nobody outside uses become short, and the same in all modules
    modules     that every device loads are one, `edge.core`; a stub stands in place of each

No statement of a function is added, left out or moved. Pressing goes by the text of a module
alone; what it would change the meaning of is refused (`find_changes`). The tests of the device
run on what comes out, too.
"""

import ast
from collections.abc import Mapping, Sequence

from . import naming
from .naming import (
    ARGUMENTS,
    SCOPES,
    Constants,
    Renamer,
    drop_empty,
    find_defined,
    find_faults,
    find_hidden,
    find_imported,
    find_locals,
    find_variables,
    sort_by_need,
    yield_names,
)

SHORTEST = 12  # letters: what is shorter takes no more memory than asking for it
LONGEST = 500
SAID = "_said"


class Words:
    """The file of all sentences; each stands there once, however many modules say it."""

    def __init__(self) -> None:
        self.data = b""
        self._places: dict[str, int] = {}

    def place(self, sentence: str) -> int:
        """Return where a sentence begins, which is added where it is new."""
        if sentence not in self._places:
            self._places[sentence] = len(self.data)
            self.data += sentence.encode() + b"\n"
        return self._places[sentence]


def move_words(tree: ast.Module, words: Words, depth: int) -> ast.Module:
    """Return a module that asks for its sentences; depth: how many folders it is below edge."""
    mover = _Mover(words)
    for node in tree.body:
        mover.visit(node)
    if mover.found:
        name = ast.alias("said", SAID)
        tree.body.insert(_after_imports(tree), ast.ImportFrom("words", [name], depth + 1))
    return ast.fix_missing_locations(tree)


class _Mover(ast.NodeTransformer):
    """Moves what is said in functions: a module's own names are there from the start anyway."""

    def __init__(self, words: Words) -> None:
        self.found = False
        self._words = words
        self._inside = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        return node if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        # What is done with a text then, such as encode, makes bytes that must be right.
        return node if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        if isinstance(node.op, ast.Mod) and (sentence := self._sentence(node.left)):
            return self._asked(sentence, [self.visit(node.right)])
        return self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        sentence = self._sentence(node)
        return self._asked(sentence, []) if sentence else node

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        self._inside += 1
        node.body = [self.visit(part) for part in node.body]
        self._inside -= 1
        return node

    def _asked(self, sentence: str, values: list[ast.expr]) -> ast.AST:
        self.found = True
        place = ast.Constant(self._words.place(sentence))
        return ast.Call(ast.Name(SAID, ast.Load()), [place, *values], [])

    def _sentence(self, node: ast.AST) -> str:
        """Return what is said, if it is a sentence, or nothing."""
        if not (self._inside and isinstance(node, ast.Constant) and isinstance(node.value, str)):
            return ""
        text = node.value
        long = SHORTEST <= len(text) <= LONGEST
        return text if long and " " in text and "\n" not in text else ""


def _after_imports(tree: ast.Module) -> int:
    """Return where an import goes: behind the docstring."""
    first = tree.body[0] if tree.body else None
    told = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return 1 if told else 0


CORE = "edge/core.py"
Trees = dict[str, ast.Module]


def join(
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
        taken = {name for tree in trees_ for name in find_variables(tree)}
        asked = {
            alias.name
            for path, tree in outer.items()
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.level == path.count("/")
            for alias in node.names
            if node.module in inner
        }
        own = {name: find_defined(tree) for name, tree in inner.items()}
        shadowed = {name for tree in trees_ for name in find_hidden(tree)}
        kept = {
            name
            for name in asked
            if sum(name in names for names in own.values()) == 1 and name not in shadowed
        }
        self._shorts = yield_names(taken, ARGUMENTS)
        raised = {module: find_faults(tree) for module, tree in inner.items()}

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
        return drop_empty(tree)

    def tree(self) -> ast.Module:
        """Return the core: imports from elsewhere, then each module after what it needs."""
        bodies, outside = [], {}
        for name in sort_by_need(self._inner):
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
            for part in drop_empty(tree).body:
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


BY_TEXT = {"getattr", "setattr", "hasattr", "delattr"}


def find_changes(path: str, tree: ast.Module, known: Mapping[str, Constants]) -> list[str]:
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
            hidden = find_locals(node) - find_imported(node)
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
    own = find_locals(tree)
    return sorted(
        name.id
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for part in node.body
        if isinstance(part, ast.Assign | ast.AnnAssign | ast.AugAssign)
        for name in ast.walk(part)
        if isinstance(name, ast.Name) and not isinstance(name.ctx, ast.Load) and name.id in own
    )


WORDS = "edge/words.txt"
WHOLE = "edge/viper.py"  # machine code, which a board compiles for itself
LOADING, LOAD = "edge/loading.py", "def load():\n    from . import core\n"
# What a device always has. The others are for some devices, or for some moments.
JOINED = (
    *("ahead", "budget", "cbor", "clock", "compat", "copies", "device", "entropy", "flights"),
    *("keys", "limits", "link", "mqtt", "node", "noise", "packets", "pause", "receipts"),
    *("records", "refusals", "ring", "saying", "slots", "talking", "ticker", "veil", "wire"),
    "words",
)


def press(sources: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return pressed sources by their path, and the file of their sentences.

    Raises:
        ValueError: a module uses what another one calls private, so its name cannot be changed;
            or something that would come to mean something else.
    """
    trees = {path: ast.parse(text) for path, text in sources.items() if path != WHOLE}
    handed = set().union(*[naming.find_renamed(tree) for tree in trees.values()])
    known = {path: naming.find_constants(tree, handed) for path, tree in trees.items()}
    given = set().union(*[naming.find_keywords(tree) for tree in trees.values()])
    names = set().union(*[naming.find_private(tree) for tree in trees.values()])
    words = Words()
    for path, tree in sorted(trees.items()):
        if strange := naming.find_borrowed(tree, names):
            raise ValueError(
                f"{path} uses {', '.join(sorted(strange))}: private in another module, or a way "
                "to names as texts; each module is given short names of its own, so they would "
                "not meet. Make the name public, or do without"
            )
        if wrong := find_changes(path, tree, known):
            raise ValueError(
                f"{path} has {wrong[0]}; pressed it would mean something else, and only a board "
                "would notice. Write it in another way"
            )
        own = known[path]
        dropped = own if path[5:-3] in JOINED else [name for name in own if name.startswith("_")]
        trees[path] = naming.fold(_plain(tree), path, known, dropped)
        if path != "edge/words.py":
            trees[path] = move_words(trees[path], words, path.count("/") - 1)
        outside = path[5:-3] not in JOINED  # an owner's driver may call what is for drivers
        trees[path] = naming.shorten(trees[path], given, outside)
    if LOADING in trees:
        trees[LOADING] = ast.parse(LOAD)
    out = {path: text for path, text in sources.items() if path == WHOLE}
    for path, tree in join(trees, JOINED, known).items():
        out[path] = ast.unparse(tree).encode() + b"\n"
    return {**out, WORDS: words.data}


def _plain(tree: ast.Module) -> ast.Module:
    """Return a module without its docstrings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:] or [ast.Pass()]
    return tree
