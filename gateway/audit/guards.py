"""What a line of source may not do where somebody from outside knocks: MACs and certificates.

Rules over the syntax tree, as in `rules`.
"""

import ast

from .syntax import Found, listed

DARING = {"CERT_NONE", "CERT_OPTIONAL", "_create_unverified_context"}
WHOLE = {"len(a) != len(b)", "differing == 0"}  # what a patient comparison compares


@listed
def open_compare(node: ast.AST) -> Found:
    """Return where a MAC is compared by == , which stops at the first byte that differs."""
    match node:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq(), *_], comparators=others):
            for side in (left, *others):
                word = ast.unparse(side).lower()
                if "mac" in word.replace("_", ".").split(".") or "mac(" in word:
                    yield node.lineno, "a MAC compared by =="


@listed
def early_end(node: ast.AST) -> Found:
    """Return where a comparison of secrets leaves its loop before the last byte."""
    if isinstance(node, ast.FunctionDef) and node.name == "same_bytes":
        for loop in ast.walk(node):
            if isinstance(loop, ast.For | ast.While):
                for part in ast.walk(loop):
                    if isinstance(part, ast.Return | ast.Break | ast.If | ast.Raise):
                        yield part.lineno, "a comparison that ends early"
            elif isinstance(loop, ast.Compare) and ast.unparse(loop) not in WHOLE:
                yield loop.lineno, "a comparison by =="


@listed
def trusting(node: ast.AST) -> Found:
    """Return where a certificate would not be verified, or not be held against the name."""
    match node:
        case ast.Attribute(attr=word) | ast.Name(id=word) if word in DARING:
            yield node.lineno, f"{word}: whoever stands between would be believed"
        case ast.Attribute(value=ast.Name(id="ssl" | "tls" | "ussl"), attr="wrap_socket"):
            yield node.lineno, "a socket wrapped without a context: it verifies nothing"
        case ast.Assign(targets=[ast.Attribute(attr="check_hostname")], value=ast.Constant(False)):
            yield node.lineno, "check_hostname off: any certificate of any name would do"
        case ast.keyword(arg="check_hostname" | "verify", value=ast.Constant(value=False)):
            yield node.value.lineno, "verification off"
