"""Answers `EXPLAIN`: one row with the plan of a query and the statements for the store, without
running it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from twinframe.model.rendering import render_row
from twinframe.model.values import Value
from twinframe.query.algebra import Operator, Query
from twinframe.query.engine import JsonRow
from twinframe.query.evaluate.limits import Limits
from twinframe.query.evaluate.run import Row
from twinframe.query.plan.execution import Execution, PushedPart
from twinframe.query.reader import GraphReader
from twinframe.query.render import render_operator, render_parts, render_query
from twinframe.query.traversal import find_inputs

_COLUMNS: Final = ("plan", "pushed", "operators")


class ExplainExecution(Execution):
    """Replaces `execution` and yields a description of it.

    The row has `plan`, the optimized algebra as text, and `pushed`, a list with one map for each
    part that the store runs: its `engine`, its `plan`, the `statement` and the `indexes` it uses.
    `operators` are the plan for programs (see `build_operators`).
    """

    resumable = False

    def __init__(self, execution: Execution) -> None:
        self.query = Query(execution.query.root, _COLUMNS)
        self.parts = execution.parts
        self._explained = execution.query

    def run_json(
        self,
        session: GraphReader,
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
        self, session: GraphReader, parameters: Mapping[str, Value], limits: Limits
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
        operators: list[Value] = [*build_operators(self._explained.root, self.parts)]
        yield render_query(self._explained), pushed, operators


def build_operators(root: Operator, parts: Sequence[PushedPart]) -> list[dict[str, Value]]:
    """List the operators of a plan, the root first, sources after their consumers.

    Each has its `operator`, the rest of it as `arguments`, the indexes of its sources in the list
    as `children`, and as `part` the index in `parts` of the one that runs it, null if there is
    none.

    NOTE: a list and not a tree: a plan may be deeper than JSON may nest.
    """
    # NOTE: by identity: both sides of a union may be equal.
    starts = {id(part.operator): number for number, part in enumerate(parts)}
    rows: list[dict[str, Value]] = []
    pending: list[tuple[Operator, int | None, list[Value]]] = [(root, None, [])]
    while pending:
        operator, part, siblings = pending.pop()
        part = starts.get(id(operator), part)
        siblings.append(len(rows))
        name, arguments = render_parts(operator)
        children: list[Value] = []
        rows.append({"operator": name, "arguments": arguments, "children": children, "part": part})
        pending.extend((one, part, children) for one in reversed(find_inputs(operator)))
    return rows
