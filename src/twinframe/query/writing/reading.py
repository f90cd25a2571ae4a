"""Runs a query that calls procedures as the execution of a plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from twinframe.errors import QueryInvalid
from twinframe.model.values import Value
from twinframe.query.algebra import Query
from twinframe.query.engine import QueryEngine
from twinframe.query.evaluate.limits import Limits
from twinframe.query.evaluate.member_typing import MemberTyping
from twinframe.query.evaluate.run import Row
from twinframe.query.plan.execution import RenderedExecution
from twinframe.query.reader import GraphReader
from twinframe.query.writing.run import StatementRun
from twinframe.query.writing.steps import Statement
from twinframe.query.writing.surroundings import Surroundings


class StatementExecution(RenderedExecution):
    """Runs the steps of a statement that only reads. All rows are made before the first is read."""

    def __init__(
        self,
        query: Query,
        statement: Statement,
        engine: QueryEngine | None,
        typing: MemberTyping | None,
    ) -> None:
        """`query` has the columns and the source of the statement."""
        self.query = query
        self.parts = ()
        self._statement = statement
        self._engine = engine
        self._typing = typing

    def run_rows(
        self, session: GraphReader, parameters: Mapping[str, Value], limits: Limits
    ) -> Iterator[Row]:
        """See `Execution`."""
        run = StatementRun(
            Surroundings(session, None, parameters, limits, self._engine, lambda: (0, self._typing))
        )
        try:
            yield from run.run(self._statement).rows
        except QueryInvalid as error:
            source = self.query.source
            raise error if source is None else source.locate(error) from error
        finally:
            run.close()
