"""A typed SPARQL expression, whose null is an unbound variable or an error, which SPARQL treats
alike.

`expressions` turns Cypher expressions into terms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from twinframe_storage_rdf.compiler import kinds as k
from twinframe_storage_rdf.compiler.abilities import NARROW
from twinframe_storage_rdf.compiler.bindings import Source
from twinframe_storage_rdf.terms import JSON_TEXT, XSD_BOOLEAN, XSD_DOUBLE, XSD_STRING

if TYPE_CHECKING:
    from twinframe_storage_rdf.compiler.group import Group

STRING_TYPE = f"<{XSD_STRING}>"
BOOLEAN_TYPE = f"<{XSD_BOOLEAN}>"
DOUBLE_TYPE = f"<{XSD_DOUBLE}>"
JSON_TYPE = f"<{JSON_TEXT}>"


@dataclass(frozen=True, slots=True)
class Term:
    """A value in SPARQL: an expression of `kinds`, which is unbound or an error for null.

    An entity is a variable bound to its IRI; `owner` is the group whose triples bind it, to which
    triples that read its members are added. `source` is the constant or parameter that the value
    is.
    """

    kinds: int
    text: str
    owner: Group | None = None
    source: Source | None = None

    @property
    def is_variable(self) -> bool:
        """Whether the text is the name of a variable."""
        return self.text.startswith("?") and self.text[1:].isalnum()

    @property
    def is_small(self) -> bool:
        """Whether it is a constant or parameter that is checked to have at most 53 bits."""
        return self.source is not None


NULL_TERM = Term(k.NULL, "?null")
"""NOTE: `?null` stands in no pattern, so that nothing binds it."""


def render_mark(*terms: Term) -> str:
    """Render the mark of an operator whose operands are only IRIs and strings."""
    narrow = all(not term.kinds & ~(k.STRING | k.ENTITIES | k.NULL) for term in terms)
    return NARROW if narrow else ""


def render_bound(term: Term) -> str:
    """Render the test that the value is not null."""
    if not term.kinds & k.NULL:
        return "true"
    if term.is_variable:
        return f"BOUND({term.text})"
    return f"COALESCE(sameTerm({term.text}, {term.text}), false)"


def render_is(term: Term, kind_class: int) -> str:
    """Render the test that the value is of one of CLASSES; an error for null."""
    text = term.text
    match kind_class:
        case k.NUMBER:
            return f"isNumeric({text})"
        case k.STRING:
            return f"(isLiteral({text}) && DATATYPE({text}) = {STRING_TYPE})"
        case k.BOOLEAN:
            return f"(isLiteral({text}) && DATATYPE({text}) = {BOOLEAN_TYPE})"
        case k.LIST:
            return f'({_render_is_json(text)} && STRSTARTS(STR({text}), "["))'
        case k.MAP:
            return f'({_render_is_json(text)} && STRSTARTS(STR({text}), "{{"))'
        case _:
            return f"isIRI({text})"


def render_is_nested(term: Term) -> str:
    """Render the test that the value is a list or a map; an error for null."""
    return _render_is_json(term.text)


def _render_is_json(text: str) -> str:
    return f"(isLiteral({text}) && DATATYPE({text}) = {JSON_TYPE})"
