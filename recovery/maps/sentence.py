"""Sentences that carry a code and what is in them, for whoever shows them in another language.

A `Wording` stands where its sentence is made. What it makes is text, which may be logged, kept and
sent as any other, and `describe_sentence` gives a reader the code and the fields beside it.
"""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple


class Sentence(str):
    """A sentence; `code` says which one it is, and `fields` what stands in it."""

    code: str
    fields: dict[str, Any]

    def __new__(cls, text: str, code: str, fields: dict[str, Any]) -> "Sentence":
        made = super().__new__(cls, text)
        made.code, made.fields = code, fields
        return made

    def __getnewargs__(self) -> tuple[str, str, dict[str, Any]]:  # type: ignore[override]
        return str(self), self.code, self.fields


class Wording(NamedTuple):
    """How a sentence reads, its fields in braces.

    >>> gone = Wording("broker.gone", "nobody answers at {place}")
    >>> said = gone(place="lan:1883")
    >>> said, said.code, said.fields
    ('nobody answers at lan:1883', 'broker.gone', {'place': 'lan:1883'})
    >>> gone.parse("nobody answers at lan:1883").fields, gone.parse("all is well")
    ({'place': 'lan:1883'}, None)
    """

    code: str
    text: str

    def __call__(self, **fields: Any) -> Sentence:
        kept = (Sentence, float)
        given = {name: one if isinstance(one, kept) else str(one) for name, one in fields.items()}
        return Sentence(self.text.format(**fields), self.code, given)

    def parse(self, text: str) -> Sentence | None:
        """Return the sentence that this text is, None where it is another."""
        whole = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.*)", re.escape(self.text))
        match = re.fullmatch(whole, text, re.DOTALL)
        return Sentence(text, self.code, match.groupdict()) if match else None


def recognise(text: str, wordings: Iterable[Wording]) -> str:
    """Return a text that was kept as text alone, as one of these sentences where it is one."""
    return next((found for one in wordings if (found := one.parse(text))), text)


def join_sentences(sentences: Iterable[str], by: str = "; ") -> str:
    """Return several sentences, or parts of one, as one, in their order; empty ones are left out.

    Args:
        by: what stands between them: "; ", or nothing.

    >>> both = join_sentences([Wording("one", "it rains")(), "", Wording("two", "it pours")()])
    >>> both, [one["code"] for one in describe_sentence(both)["fields"].values()]
    ('it rains; it pours', ['one', 'two'])
    """
    said = [one for one in sentences if one]
    if len(said) < 2:
        return said[0] if said else ""
    code = "list" if by else "parts"
    return Sentence(by.join(said), code, {str(at): one for at, one in enumerate(said)})


def describe_sentence(said: str) -> dict[str, Any]:
    """Return a sentence for JSON: `why` and, where it has one, its code with the fields.

    >>> describe_sentence("by hand"), describe_sentence(Wording("out.hand", "by hand")())
    ({'why': 'by hand'}, {'why': 'by hand', 'code': 'out.hand', 'fields': {}})
    """
    if not isinstance(said, Sentence):
        return {"why": said}
    fields = {
        name: one if isinstance(one, float) or type(one) is str else describe_sentence(one)
        for name, one in said.fields.items()
    }
    return {"why": str(said), "code": said.code, "fields": fields}
