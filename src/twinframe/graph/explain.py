"""What `EXPLAIN` answers: one row with the plan of a query and what the store would be given.

It runs nothing of the query.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from twinframe.cypher.algebra import Query
from twinframe.cypher.render import render_operator, render_query
from twinframe.evaluator.limits import Limits
from twinframe.evaluator.run import Row
from twinframe.model.rendering import render_row
from twinframe.model.values import Value
from twinframe.planner.execution import Execution
from twinframe.storage.base import GraphSession, JsonRow

_COLUMNS: Final = ("plan", "pushed")


class ExplainExecution(Execution):
    """Stands for `execution` and yields a description of it.

    The row has `plan`, the optimized algebra as text, and `pushed`, a list with one map for each
    part that the store runs: its `engine`, its `plan`, the `statement` and the `indexes` it uses.
    """

    resumable = False

    def __init__(self, execution: Execution) -> None:
        self.query = Query(execution.query.root, _COLUMNS)
        self.parts = execution.parts
        self._explained = execution.query

    def run_json(
        self,
        session: GraphSession,
        parameters: Mapping[str, Value],
        limits: Limits,
        *,
        after: int | str | None = None,
        skip: int = 0,
        limit: int | None = None,
    ) -> Iterator[JsonRow]:
        """The one row as JSON."""
        del after
        rows = self.run_rows(session, parameters, limits)
        for row in islice(rows, skip, None if limit is None else skip + limit):
            yield render_row(_COLUMNS, row), None

    def run_rows(
        self, session: GraphSession, parameters: Mapping[str, Value], limits: Limits
    ) -> Iterator[Row]:
        """The one row as values."""
        del limits
        pushed: list[Value] = [
            {
                "engine": part.engine,
                "plan": "\n".join(render_operator(part.operator)),
                "statement": part.compiled.text,
                "indexes": list(part.compiled.list_indexes(session, parameters)),
            }
            for part in self.parts
        ]
        yield render_query(self._explained), pushed
