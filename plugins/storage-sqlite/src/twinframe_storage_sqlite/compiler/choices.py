"""Compiles expressions that choose one of several terms: CASE and coalesce."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from twinframe.query.engine import CannotRun
from twinframe_storage_sqlite.compiler import kinds as k
from twinframe_storage_sqlite.compiler.arithmetic import LARGEST_OPERAND
from twinframe_storage_sqlite.compiler.elements import render_item
from twinframe_storage_sqlite.compiler.guards import has_trap
from twinframe_storage_sqlite.compiler.term import Term, build_json_term

_ENTITIES = k.ENTITIES


def build_choice(branches: Sequence[tuple[str, Term]], default: Term) -> Term:
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
    if k.is_plain(kinds):
        text = _render_case([(test, t.value) for test, t in branches], default.value)
        elements = 0
        for term in terms:
            elements |= term.elements if term.kinds & k.LIST else 0
        return Term(kinds, text, elements=elements or k.JSON, assumed=assumed)
    text = _render_case([(test, render_item(t)) for test, t in branches], render_item(default))
    _check_size(text)
    return replace(build_json_term(text, kinds), assumed=assumed)


def build_first(terms: Sequence[Term]) -> Term:
    """The first term that is not null: `coalesce`."""
    branches = [(f"{term.value} IS NOT NULL", term) for term in terms[:-1]]
    chosen = build_choice(branches, terms[-1])
    if any(not term.kinds & k.NULL for term in terms) and k.is_plain(chosen.kinds):
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


def _check_size(text: str) -> None:
    if len(text) > LARGEST_OPERAND:
        raise CannotRun("So large a CASE of values of several types.")
