"""Sentences moved out of a board's memory: into a file, from which `edge.words` reads them."""

import ast

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


def moved(tree: ast.Module, words: Words, depth: int) -> ast.Module:
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
