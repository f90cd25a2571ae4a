"""The query engine over a projection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy

import numpy as np
import orjson

from twinframe.model.values import Value
from twinframe.query.algebra import (
    Binary,
    BinaryOperator,
    Match,
    Query,
    ResultShape,
)
from twinframe.query.engine import CannotRun
from twinframe.query.evaluate.analysis import find_variables
from twinframe.query.evaluate.member_typing import MemberTyping
from twinframe.query.measures import Measures
from twinframe.query.reader import GraphReader
from twinframe.query.traversal import Term, walk
from twinframe_columns.expressions import find_path
from twinframe_columns.frame import Frame, Run, unfold
from twinframe_columns.measuring import MeasuringCompiler
from twinframe_columns.operators import PlanCompiler, binds_entity
from twinframe_columns.projection import ID, Projection
from twinframe_columns.rendering import render_rows
from twinframe_columns.results import read_values
from twinframe_columns.schemas import MemberSchemas


class ColumnPlan:
    """A query compiled for projections: immutable, shared by threads."""

    def __init__(self, query: Query, typing: MemberTyping | None = None) -> None:
        """With a `typing` its members are read as temporal values."""
        self._query = query
        self._schemas = None if typing is None else MemberSchemas(typing)
        if query.shape is ResultShape.DOCUMENT and not binds_entity(query.root, query.columns[0]):
            raise CannotRun("A document of what is no twin or relationship.")
        try:
            self._execute = PlanCompiler().compile(query.root, frozenset(query.columns))
        except RecursionError as error:
            raise CannotRun("An expression that is nested too deeply.") from error
        self.is_looked_up = any(map(_is_look_up, walk(query.root)))
        """Whether it asks for twins by their ids."""
        self.gives_documents = any(binds_entity(query.root, name) for name in query.columns)
        """Whether its rows have whole twins or relationships."""

    def build_measured(self, measures: Measures) -> ColumnPlan:
        """Return the same plan, whose runs note in `measures` what each operator did."""
        measured = copy(self)
        root = self._query.root
        compiler = MeasuringCompiler(measures.open(root))
        measured._execute = compiler.compile(root, frozenset(self._query.columns))
        return measured

    def run(
        self,
        projection: Projection,
        session: GraphReader,
        parameters: Mapping[str, Value],
        skip: int = 0,
        limit: int | None = None,
        most: int | None = None,
    ) -> list[tuple[Value, ...]] | None:
        """Return the rows as values; None when there are more than `most`."""
        run = Run(projection, session, parameters, self._schemas)
        with _guard():
            frame = self._find_page(run, skip, limit, most)
            if frame is None:
                return None
            columns = [
                read_values(run, frame, frame.variables[name]) for name in self._query.columns
            ]
        return list(zip(*columns, strict=True)) if columns else [()] * frame.count

    def run_json(
        self,
        projection: Projection,
        session: GraphReader,
        parameters: Mapping[str, Value],
        skip: int = 0,
        limit: int | None = None,
        most: int | None = None,
    ) -> list[bytes] | None:
        """Return the rows as JSON; None when there are more than `most`."""
        run = Run(projection, session, parameters, self._schemas)
        with _guard():
            frame = self._find_page(run, skip, limit, most)
            return None if frame is None else render_rows(run, self._query, frame)

    def _find_page(self, run: Run, skip: int, limit: int | None, most: int | None) -> Frame | None:
        """Return the rows of a page; None when there are more than `most` in all."""
        frame = unfold(self._execute(run))
        if most is not None and frame.count > most:
            return None
        return frame.take(slice(skip, None if limit is None else skip + limit))


def _is_look_up(term: Term) -> bool:
    match term:
        case Match(pattern=pattern):
            return any(key == ID[0] for node in pattern.nodes for key, _ in node.properties)
        case Binary(BinaryOperator.EQUAL | BinaryOperator.IN, left, right):
            return find_path(left)[1] == ID and not find_variables(right)
        case _:
            return False


@contextmanager
def _guard() -> Iterator[None]:
    """Leave what is too much for arrays to an engine that holds fewer rows at a time."""
    try:
        # NOTE: numbers that are not finite are looked for, so NumPy need not warn of them.
        with np.errstate(all="ignore"):
            yield
    except (MemoryError, RecursionError) as error:
        raise CannotRun("A query that needs too much at once.") from error
    except orjson.JSONEncodeError as error:
        raise CannotRun("A text that JSON cannot hold.") from error
