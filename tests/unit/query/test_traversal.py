"""The walker reaches every part of every term of the algebra, and changes what it reaches."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import Field, fields, is_dataclass
from typing import Any, cast, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinframe.errors import QueryInvalid
from twinframe.query import algebra as al
from twinframe.query.language import parse_query
from twinframe.query.render import render_query
from twinframe.query.traversal import (
    HELD,
    Term,
    children,
    find_expressions,
    find_inputs,
    map_children,
    rewrite_operators,
    walk,
)
from twinframe.testing.query_corpora import CORPORA, PARAMETERS
from twinframe.testing.query_writers import (
    CLAUSE_PARAMETERS,
    ClauseWriter,
    ExpressionWriter,
    PatternWriter,
)

TERMS = (*get_args(al.Expression), *get_args(al.Operator))
CLASSES = [one for one in vars(al).values() if is_dataclass(one) and one is not al.Query]
HOLDERS = {"Expression", "Operator"}
"""The names of the types whose values are terms, and of the classes that hold some."""
while True:
    found = {
        kind.__name__
        for kind in CLASSES
        if any(HOLDERS & set(re.findall(r"\w+", str(one.type))) for one in fields(kind))
    }
    if found <= HOLDERS:
        break
    HOLDERS |= found


class Maker:
    """Makes values of the annotated types, with terms that are told apart."""

    def __init__(self) -> None:
        self.made: list[Term] = []

    def make(self, annotation: str) -> Any:
        """A value of this type; the terms in it are appended to `made` in their order."""
        annotation = annotation.removesuffix(" | None").strip()
        if annotation.startswith("tuple["):
            inner = annotation.removeprefix("tuple[").removesuffix("]")
            if inner.endswith(", ..."):
                return tuple(self.make(inner.removesuffix(", ...")) for _ in range(2))
            return tuple(map(self.make, re.split(r", (?![^\[]*\])", inner)))
        match annotation:
            case "Expression":
                self.made.append(al.Variable(f"v{len(self.made)}"))
                return self.made[-1]
            case "Operator":
                self.made.append(al.Argument((f"v{len(self.made)}",)))
                return self.made[-1]
            case name if name in HOLDERS:
                kind = getattr(al, name)
                return kind(**{one.name: self.make(str(one.type)) for one in list_fields(kind)})
            case _:
                return annotation  # a name, a kind, labels: no matter here


def list_fields(kind: type) -> Iterator[Field[Any]]:
    return (one for one in fields(cast("Any", kind)) if one.name != "span")


def test_each_class_of_the_algebra_that_holds_terms_is_walked() -> None:
    holding = {kind for kind in CLASSES if kind.__name__ in HOLDERS}
    assert holding | set(TERMS) == set(HELD)
    assert {"Binary", "Match", "Subplan", "GraphPattern", "SortKey"} <= HOLDERS


@pytest.mark.parametrize("kind", HELD, ids=lambda kind: kind.__name__)
def test_children_are_all_terms_within_in_the_order_of_the_fields(kind: type) -> None:
    maker = Maker()
    term = kind(**{one.name: maker.make(str(one.type)) for one in list_fields(kind)})
    assert [id(one) for one in children(term)] == [id(one) for one in maker.made]


@pytest.mark.parametrize("kind", HELD, ids=lambda kind: kind.__name__)
def test_each_child_is_changed_alone(kind: type) -> None:
    maker = Maker()
    term: Any = kind(**{one.name: maker.make(str(one.type)) for one in list_fields(kind)})
    for at, changed in enumerate(maker.made):
        new = al.Unit() if isinstance(changed, al.Argument) else al.Variable("new")
        result = map_children(term, lambda one, old=changed, new=new: new if one is old else one)
        expected = [*maker.made[:at], new, *maker.made[at + 1 :]]
        assert [id(one) for one in children(result)] == [id(one) for one in expected]
        assert type(result) is kind


def test_what_is_left_out_is_not_walked() -> None:
    inner = al.Filter(al.Unit(), al.Variable("a"))
    outer = al.Filter(inner, al.Variable("b"))
    assert list(walk(outer, inner)) == [outer, al.Variable("b")]


# --- random queries -----------------------------------------------------------------------------


def write(kind: str, chance: random.Random) -> str:
    match kind:
        case "expressions":
            return ExpressionWriter(chance).write()
        case "patterns":
            return PatternWriter(chance).write()
        case _:
            return ClauseWriter(chance).write()


def parse(text: str) -> al.Query | None:
    names = {*PARAMETERS, *CLAUSE_PARAMETERS, "p", "q"}
    try:
        return parse_query(text, parameters=names).query
    except QueryInvalid:
        return None


QUERIES = st.one_of(
    st.builds(
        write,
        st.sampled_from(("expressions", "patterns", "clauses")),
        st.randoms(use_true_random=False),
    ),
    st.sampled_from([text for texts in CORPORA.values() for text in texts[::20]]),
).map(parse)


@given(query=QUERIES)
def test_map_children_visits_the_children_and_keeps_what_is_not_changed(
    query: al.Query | None,
) -> None:
    if query is None:
        return
    for term in walk(query.root):
        seen: list[Term] = []
        kept = map_children(term, lambda one, seen=seen: seen.append(one) or one)
        assert kept is term
        assert [id(one) for one in seen] == [id(one) for one in children(term)]
        if isinstance(term, get_args(al.Operator)):
            inputs, own = find_inputs(term), find_expressions(term)
            assert sorted(map(id, children(term))) == sorted(map(id, (*inputs, *own)))


@given(query=QUERIES)
def test_a_query_is_rebuilt_of_copies_of_its_terms(query: al.Query | None) -> None:
    if query is None:
        return

    def copy(term: Term) -> Term:
        built = map_children(term, copy)
        return type(built)(**{one.name: getattr(built, one.name) for one in fields(built)})

    rebuilt = al.Query(cast("al.Operator", copy(query.root)), query.columns)
    assert rebuilt.root == query.root
    assert render_query(rebuilt) == render_query(al.Query(query.root, query.columns))
    assert not {id(one) for one in walk(rebuilt.root)} & {id(one) for one in walk(query.root)}


@given(query=QUERIES)
def test_each_operator_is_rewritten_once_after_those_below_it(query: al.Query | None) -> None:
    if query is None:
        return
    seen: list[int] = []

    def note(operator: al.Operator) -> al.Operator:
        assert {id(one) for one in find_inputs(operator)} <= set(seen)
        seen.append(id(operator))
        return operator

    assert rewrite_operators(query.root, note) is query.root
    operators = [one for one in walk(query.root) if isinstance(one, get_args(al.Operator))]
    assert sorted(seen) == sorted(map(id, operators))
