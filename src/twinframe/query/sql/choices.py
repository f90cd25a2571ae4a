"""Compiles expressions that choose one of several terms: CASE and coalesce."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from twinframe.query.engine import CannotRun
from twinframe.query.sql import kinds as k
from twinframe.query.sql.dialect import Dialect
from twinframe.query.sql.term import Term
from twinframe.query.sql.traps import has_trap

_ENTITIES = k.ENTITIES


def build_choice(branches: Sequence[tuple[str, Term]], default: Term, dialect: Dialect) -> Term:
    """The term of the first branch whose test holds, else `default`."""
    terms = [term for _, term in branches] + [default]
    kinds = 0
    for term in terms:
        kinds |= term.kinds
    _check_entities(terms, kinds)
    guarded = any(has_trap(test) for test, _ in branches)
    if guarded and kinds == k.NULL:
        raise CannotRun("A CASE of nulls alone, whose conditions may be no booleans.")
    assumed = guarded or any(term.assumed for term in terms)
    if dialect.is_plain(kinds):
        read = dialect.read_plain
        text = _render_case([(test, read(t)) for test, t in branches], read(default))
        elements = 0
        for term in terms:
            elements |= term.elements if term.kinds & k.LIST else 0
        return Term(kinds, text, elements=elements or k.JSON, assumed=assumed)
    item = dialect.render_item
    text = _render_case([(test, item(t)) for test, t in branches], item(default))
    if len(text) > dialect.largest_operand:
        raise CannotRun("So large a CASE of values of several types.")
    return replace(dialect.build_json_term(text, kinds), assumed=assumed)


def build_first(terms: Sequence[Term], dialect: Dialect) -> Term:
    """The first term that is not null: `coalesce`."""
    branches = [(f"{term.value} IS NOT NULL", term) for term in terms[:-1]]
    chosen = build_choice(branches, terms[-1], dialect)
    if any(not term.kinds & k.NULL for term in terms) and dialect.is_plain(chosen.kinds):
        return replace(chosen, kinds=chosen.kinds & ~k.NULL)
    return chosen


def _render_case(branches: Sequence[tuple[str, str]], default: str) -> str:
    whens = "".join(f" WHEN {test} THEN {value}" for test, value in branches)
    return f"CASE{whens} ELSE {default} END" if branches else default


def _check_entities(terms: Sequence[Term], kinds: int) -> None:
    if kinds & _ENTITIES and any(term.kinds & ~k.NULL for term in terms):
        raise CannotRun("A choice between nodes or relationships.")
    lists = [term for term in terms if term.kinds & k.LIST]
    if any(term.holds_entities for term in terms):
        raise CannotRun("A choice between maps of nodes or relationships.")
    if any(term.elements & _ENTITIES for term in lists):
        raise CannotRun("A choice between lists of nodes or relationships.")
