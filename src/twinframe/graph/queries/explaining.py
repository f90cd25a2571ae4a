"""What EXPLAIN and PROFILE answer: the plan of a query, and with PROFILE what its run took."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice, repeat
from typing import Final

from twinframe.model.rendering import render_row
from twinframe.model.values import Value
from twinframe.query.algebra import Operator, Query
from twinframe.query.engine import Explanation, JoinEstimate, JsonRow
from twinframe.query.evaluate.limits import Limits
from twinframe.query.evaluate.run import Row
from twinframe.query.plan.execution import Execution, PushedPart
from twinframe.query.plan.profile import Figure, Profile, Profiler
from twinframe.query.reader import GraphReader
from twinframe.query.render import render_operator, render_parts, render_query
from twinframe.query.traversal import find_inputs, walk_inputs

_COLUMNS: Final = ("plan", "pushed", "operators")
_PROFILED: Final = (*_COLUMNS, "engine", "rows", "milliseconds")


class _OneRow(Execution):
    """Replaces `execution` and yields one row about it."""

    resumable = False

    def __init__(self, execution: Execution, columns: tuple[str, ...]) -> None:
        self.query = Query(execution.query.root, columns)
        self.parts = execution.parts
        self._execution = execution

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
            yield render_row(self.query.columns, row), None


class ExplainExecution(_OneRow):
    """Describes an execution, without running it.

    The row has `plan`, the optimized algebra as text, and `pushed`, a list with one map for each
    part that the store runs: the `engine` that would answer it, its `plan`, the `statement` and the
    `indexes` it uses, and by which engines it is `declined` for which reason.
    `operators` are the plan for programs (see `build_operators`).
    """

    def __init__(self, execution: Execution) -> None:
        super().__init__(execution, _COLUMNS)

    def run_rows(
        self, session: GraphReader, parameters: Mapping[str, Value], limits: Limits
    ) -> Iterator[Row]:
        """The one row as values."""
        del limits
        chosen = self._execution.choose(session, parameters)
        explained, parts = chosen.query, chosen.parts
        found = chosen.explain_parts(session, parameters)
        pushed: list[Value] = [
            _build_part(part, one, one.engine or part.engine)
            for part, one in zip(parts, found, strict=True)
        ]
        operators: list[Value] = [*build_operators(explained.root, parts)]
        yield render_query(explained), pushed, operators


class ProfileExecution(_OneRow):
    """Runs an execution to its last row, and describes what each operator did.

    The row has that of `ExplainExecution`, with `rows` and `milliseconds` of operators and parts,
    a `note` on them where there is something to be known, and for joins the rows `counted`. It
    ends with the `engine`, `rows` and `milliseconds` of the whole.
    """

    def __init__(self, execution: Execution, profiler: Profiler) -> None:
        super().__init__(execution, _PROFILED)
        self._profiler = profiler

    def run_rows(
        self, session: GraphReader, parameters: Mapping[str, Value], limits: Limits
    ) -> Iterator[Row]:
        """The one row as values."""
        found = self._profiler.run(self._execution, session, parameters, limits)
        query, parts = found.execution.query, found.execution.parts
        operators = build_operators(query.root, parts)
        figures = [found.figures.get(at, _UNKNOWN) for at in range(len(operators))]
        for operator, figure in zip(operators, figures, strict=True):
            operator |= {**_build_figures(figure), "note": figure.note or None}
        shown = dict(zip(map(id, walk_inputs(query.root)), figures, strict=True))
        total = Figure(found.rows, found.seconds)
        text = render_query(
            query, lambda one: _render_figure(total if one is None else shown[id(one)])
        )
        pushed: list[Value] = [
            _build_part(part, one.explanation, one.engine, one.joins)
            | _build_figures(shown[id(part.operator)])
            for part, one in zip(parts, found.parts, strict=True)
        ]
        yield text, pushed, [*operators], _name_engines(found), *_build_figures(total).values()


_UNKNOWN: Final = Figure(None, None, "Unknown: it is done together with another operator.")


def _build_figures(figure: Figure) -> dict[str, Value]:
    rows, seconds, _ = figure
    return {"rows": rows, "milliseconds": None if seconds is None else round(seconds * 1000, 3)}


def _render_figure(figure: Figure) -> str:
    """Render the end of a line of a plan."""
    rows, seconds, _ = figure
    if rows is None or seconds is None:
        return "  [unknown]"
    return f"  [{rows:,} row{'' if rows == 1 else 's'}, {seconds * 1000:,.3f} ms]"


def _name_engines(found: Profile) -> str:
    names = [*dict.fromkeys(one.engine for one in found.parts)]
    return "+".join(names if found.execution.is_whole else [*names, "evaluator"])


def _build_part(
    part: PushedPart, found: Explanation, engine: str, counted: Sequence[int | None] | None = None
) -> dict[str, Value]:
    """`counted` are the rows after each join, where they were counted."""
    joins = [[_build_join(one) for one in each] for each in found.joins]
    if counted is not None:
        numbers = chain(counted, repeat(None))
        for join in chain.from_iterable(joins):
            join["counted"] = next(numbers)
    return {
        "engine": engine,
        "plan": "\n".join(render_operator(part.operator)),
        "statement": found.statement or part.compiled.text,
        "indexes": list(found.indexes),
        "joins": [[*each] for each in joins],
        "declined": dict(found.declined),
    }


def _build_join(join: JoinEstimate) -> dict[str, Value]:
    rows = round(join.rows, 1)
    return {"table": join.table, "alias": join.alias, "rows": rows, "grouped": join.grouped}


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
