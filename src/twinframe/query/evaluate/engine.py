"""The reference engine: runs whole queries of the algebra over a `GraphReader`, in Python.

It defines the meaning of the algebra, against which faster engines are tested.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from twinframe.errors import LimitExceeded, QueryInvalid
from twinframe.model.values import Value
from twinframe.query.algebra import Query
from twinframe.query.errors import Source
from twinframe.query.evaluate.analysis import find_mentioned
from twinframe.query.evaluate.limits import Limits
from twinframe.query.evaluate.measuring import build_probe
from twinframe.query.evaluate.member_typing import MemberTyping
from twinframe.query.evaluate.operators import Leaf, compile_plan
from twinframe.query.evaluate.run import Row, Run, Stream
from twinframe.query.measures import Measures
from twinframe.query.reader import GraphReader


@dataclass(frozen=True, slots=True)
class EvaluatorPlan:
    """A query compiled to closures: immutable, run by any thread with a reader of its own."""

    columns: tuple[str, ...]
    _stream: Stream
    _slots: tuple[int, ...]
    _typing: MemberTyping | None = None
    _source: Source | None = None

    def run(
        self, reader: GraphReader, parameters: Mapping[str, Value], limits: Limits
    ) -> Iterator[Row]:
        """Yield rows as values in the order of `columns`, computed as they are read.

        Raises `QueryInvalid` for errors that depend on values, `QueryTimeout`, `LimitExceeded` and
        `MemoryExhausted`.
        """
        run = Run(reader, parameters, limits, self._typing)
        slots = self._slots
        try:
            for row in self._stream(run, ()):
                run.budget.tick()
                yield tuple([row[slot] for slot in slots])
        except QueryInvalid as error:
            raise error if self._source is None else self._source.locate(error) from error
        except RecursionError as error:
            raise LimitExceeded(
                "A value of the query is nested too deeply to be compared or written."
            ) from error
        finally:
            run.budget.close()


def compile_query(
    query: Query,
    leaves: Sequence[Leaf] = (),
    typing: MemberTyping | None = None,
    measures: Measures | None = None,
) -> EvaluatorPlan:
    """Compile a query; `leaves` are parts of it whose rows another engine supplies.

    With a `typing`, members of twins and relationships have the types of their models. `measures`
    get what each operator does, in all runs of the plan together. Raises `LimitExceeded` for an
    expression nested more deeply than Python can follow.
    """
    try:
        mentioned = find_mentioned(query.root, query.columns)
        probe = None if measures is None else build_probe(query.root, measures)
        plan = compile_plan(query.root, mentioned, leaves, typing, probe)
    except RecursionError as error:
        raise LimitExceeded("An expression of the query is nested too deeply.") from error
    slots = tuple(plan.scope.find_slot(name) for name in query.columns)
    return EvaluatorPlan(query.columns, plan.stream, slots, typing, query.source)


def run(
    query: Query,
    reader: GraphReader,
    parameters: Mapping[str, Value] | None = None,
    limits: Limits | None = None,
) -> Iterator[Row]:
    """Compile and run a query once."""
    return compile_query(query).run(reader, parameters or {}, limits or Limits())
