"""The law of query engines finds an engine that answers wrongly."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from twinframe.model.rendering import render_row
from twinframe.model.values import Value
from twinframe.query.algebra import Query
from twinframe.query.engine import CannotRun, CompiledQuery, JsonRow, QueryEngine
from twinframe.query.evaluate.engine import run as evaluate
from twinframe.query.reader import GraphReader
from twinframe.storage.memory import MemoryStore
from twinframe.testing.contracts.query_answers import QueryAnswers
from twinframe.testing.query_law import Answer, QueryLaw, open_stored

Row = tuple[Value, ...]
Change = Callable[[list[Row]], list[Row]]


class EvaluatedQuery(CompiledQuery):
    """The rows of the evaluator, changed."""

    text, resumable = "", False

    def __init__(self, query: Query, change: Change, change_json: Change) -> None:
        self.query, self.change, self.change_json = query, change, change_json

    def run_rows(
        self, session: GraphReader, parameters: Mapping[str, Value]
    ) -> Iterator[tuple[Value, ...]]:
        yield from self.change(list(evaluate(self.query, session, parameters)))

    def run_json(
        self, session: GraphReader, parameters: Mapping[str, Value], **page: Any
    ) -> Iterator[JsonRow]:
        for row in self.change_json(list(evaluate(self.query, session, parameters))):
            yield render_row(self.query.columns, row, omit_null=self.query.omit_null), None


class ChangingEngine(QueryEngine):
    """Changes the rows of every query, or of their JSON alone."""

    name = "changing"

    def __init__(self, change: Change, change_json: Change | None = None) -> None:
        self.change, self.change_json = change, change_json or change

    def compile(self, query: Query, parameters: Mapping[str, Value]) -> CompiledQuery:
        return EvaluatedQuery(query, self.change, self.change_json)


def check(engine: QueryEngine, text: str, **options: Any) -> Answer:
    law = QueryLaw(engine, lambda twins, edges: open_stored(MemoryStore(), twins, edges))
    try:
        return law.check(text, **options)
    finally:
        law.close()


TEXT = "MATCH (t) WHERE t.$dtId IN ['a', 'c'] RETURN t.$dtId AS i, 1 AS one, t ORDER BY i"


def test_an_engine_with_the_rows_of_the_evaluator_passes() -> None:
    found = check(ChangingEngine(list), TEXT, ordered=True)
    assert len(found.rows) == len(found.bodies) == 2
    assert found.declined is None


LIES: list[Change] = [
    lambda rows: rows[:1],
    lambda rows: [*rows, rows[0]],
    lambda rows: [(i, 1.0, t) for i, _, t in rows],
    lambda rows: [(i, True, t) for i, _, t in rows],
    lambda rows: [(i, one, i) for i, one, _ in rows],
]


@pytest.mark.parametrize("lie", LIES, ids=["fewer", "more", "float", "boolean", "no node"])
def test_wrong_rows_are_found(lie: Change) -> None:
    with pytest.raises(AssertionError):
        check(ChangingEngine(lie), TEXT)


@pytest.mark.parametrize("lie", LIES, ids=["fewer", "more", "float", "boolean", "no node"])
def test_wrong_json_is_found(lie: Change) -> None:
    with pytest.raises(AssertionError):
        check(ChangingEngine(list, lie), TEXT)


def test_another_order_is_found_where_the_order_counts() -> None:
    engine = ChangingEngine(lambda rows: rows[::-1])
    check(engine, TEXT)
    with pytest.raises(AssertionError):
        check(engine, TEXT, ordered=True)


def test_rows_instead_of_an_error_are_found() -> None:
    class Silent(ChangingEngine):
        def compile(self, query: Query, parameters: Mapping[str, Value]) -> CompiledQuery:
            compiled = EvaluatedQuery(query, list, list)
            compiled.run_rows = lambda *_: iter([])  # type: ignore[method-assign]  # the fault
            compiled.run_json = lambda *_, **__: iter([])  # type: ignore[method-assign]  # the fault
            return compiled

    with pytest.raises(AssertionError, match="not the error"):
        check(Silent(list), "MATCH (t) WHERE t.s RETURN t")


def test_an_engine_that_declines_more_than_it_says_is_found() -> None:
    class Declining(ChangingEngine):
        def compile(self, query: Query, parameters: Mapping[str, Value]) -> CompiledQuery:
            raise CannotRun("Everything.")

    found = check(Declining(list), TEXT)
    assert (found.declined, found.declined_as_written) == ("Everything.", "Everything.")

    class Answers(QueryAnswers):
        declined = {"half": 0.5, "all": 1.0}  # noqa: RUF012  # as a plugin's author writes it

    Answers().check_declined("all", [found])
    Answers().check_declined("half", [found, Answer()])
    with pytest.raises(AssertionError, match="Everything"):
        Answers().check_declined("half", [found])
    with pytest.raises(AssertionError, match="Everything"):
        Answers().check_declined("others", [found])
