"""A run that columns answer is counted by the store's query, which may want an index for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from typing import Any, cast

import pytest

from twinframe.model.values import Value
from twinframe.query.engine import CannotRun, CompiledQuery, JsonRow
from twinframe.query.reader import GraphReader
from twinframe.storage.memory import MemoryStore
from twinframe_columns.choosing import ChosenQuery


class Stored(CompiledQuery):
    """Counts what others answered."""

    text = "stored"
    resumable = False

    def __init__(self) -> None:
        self.answered = 0

    def run_json(
        self, session: GraphReader, parameters: Mapping[str, Value], **page: object
    ) -> Iterator[JsonRow]:
        return iter([(b"stored", None)])

    def run_rows(
        self, session: GraphReader, parameters: Mapping[str, Value]
    ) -> Iterator[tuple[Value, ...]]:
        return iter([("stored",)])

    def count_answered(self, session: GraphReader) -> None:
        self.answered += 1


class Plan:
    """Answers, or declines."""

    def __init__(self, rows: list[bytes] | None) -> None:
        self.rows = rows

    def run_json(self, *_: object) -> list[bytes]:
        if self.rows is None:
            raise CannotRun("no columns")
        return self.rows


class Holder:
    """Has a projection."""

    def open(self, _session: object) -> Any:
        return nullcontext(object())


@pytest.mark.parametrize(
    ("rows", "found", "answered"), [([b"columns"], b"columns", 1), (None, b"stored", 0)]
)
def test_only_runs_that_columns_answer_are_counted(
    rows: list[bytes] | None, found: bytes, answered: int
) -> None:
    store = MemoryStore()
    store.open()
    stored, session = Stored(), store.session()
    query = ChosenQuery(stored, cast("Any", Plan(rows)), cast("Any", Holder()))
    assert [row for row, _ in query.run_json(session, {})] == [found]
    assert stored.answered == answered
    session.close()
    store.close()
