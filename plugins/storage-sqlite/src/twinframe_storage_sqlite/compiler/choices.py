"""Terms that hold one of several terms: CASE, coalesce; and list literals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from twinframe.storage.base import CannotRun
from twinframe_storage_sqlite.compiler import kinds as k
from twinframe_storage_sqlite.compiler.arithmetic import LARGEST_OPERAND
from twinframe_storage_sqlite.compiler.paths import render_balanced
from twinframe_storage_sqlite.compiler.term import Term, build_json_term, render_json

_ENTITIES = k.NODE | k.RELATIONSHIP


def build_choice(branches: Sequence[tuple[str, Term]], default: Term) -> Term:
    """The term of the first branch whose test holds, else `default`."""
    terms = [term for _, term in branches] + [default]
    kinds = 0
    for term in terms:
        kinds |= term.kinds
    _check_entities(terms, kinds)
    assumed = any(term.assumed for term in terms)
    if k.is_plain(kinds):
        text = _render_case([(test, t.value) for test, t in branches], default.value)
        return Term(kinds, text, assumed=assumed)
    text = _render_case([(test, render_json(t)) for test, t in branches], render_json(default))
    _check_size(text)
    return replace(build_json_term(text, kinds), assumed=assumed)


def build_first(terms: Sequence[Term]) -> Term:
    """The first term that is not null: `coalesce`."""
    branches = [(f"{term.value} IS NOT NULL", term) for term in terms[:-1]]
    chosen = build_choice(branches, terms[-1])
    if any(not term.kinds & k.NULL for term in terms) and k.is_plain(chosen.kinds):
        return replace(chosen, kinds=chosen.kinds & ~k.NULL)
    return chosen


def build_list(items: tuple[Term, ...]) -> Term:
    """A list literal: its items stay known for `IN`."""
    for item in items:
        if item.kinds & _ENTITIES:
            raise CannotRun("A list of nodes or relationships.")
        if item.kinds & k.FLOAT and not item.finite and item.source is None:
            raise CannotRun("A list of computed floats.")
    elements = 0
    for item in items:
        elements |= item.kinds
    text = _render_array([render_item(item) for item in items])
    return Term(k.LIST, text, items=items, elements=elements or k.NULL)


def _render_array(items: Sequence[str]) -> str:
    """JSON text of an array of JSON texts. A function of SQLite takes 1,000 arguments at most."""
    if len(items) <= 100:
        return f"json_array({','.join(f'json({item})' for item in items)})"
    parts = [
        f"{',' if i else '['}".join(("'", "'")) + f" || {item}" for i, item in enumerate(items)
    ]
    return f"({render_balanced(parts, '||')} || ']')"


def render_item(term: Term) -> str:
    """JSON text of an element, never NULL."""
    return f"coalesce({render_json(term)}, 'null')"


def _render_case(branches: Sequence[tuple[str, str]], default: str) -> str:
    whens = "".join(f" WHEN {test} THEN {value}" for test, value in branches)
    return f"CASE{whens} ELSE {default} END" if branches else default


def _check_entities(terms: Sequence[Term], kinds: int) -> None:
    if kinds & _ENTITIES and any(term.kinds & ~k.NULL for term in terms):
        raise CannotRun("A choice between nodes or relationships.")
    if any(term.kinds & k.LIST and term.elements & _ENTITIES for term in terms):
        raise CannotRun("A choice between lists of nodes or relationships.")


def _check_size(text: str) -> None:
    if len(text) > LARGEST_OPERAND:
        raise CannotRun("So large a CASE of values of several types.")
