"""Runs procedures for the rows of a statement, and holds them to what they declare."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Protocol

from twinframe.errors import QueryInvalid, TwinframeError
from twinframe.model.comparison import name_type
from twinframe.model.values import Node, Relationship, Value
from twinframe.query.evaluate.failures import build_type_error, note_span
from twinframe.query.reader import GraphReader
from twinframe.query.writing.port import Effect
from twinframe.query.writing.procedures import Procedure, ProcedureGraph, accepts

if TYPE_CHECKING:
    from twinframe.query.spans import Span

_log: Final = logging.getLogger(__name__)


class Writes(Protocol):
    """What a run of a statement writes for a procedure."""

    def create_node(
        self, labels: tuple[str, ...], properties: Mapping[str, Value], *, is_read: bool
    ) -> Node:
        """Create a node."""

    def create_relationship(
        self, source: Node, target: Node, kind: str, properties: Mapping[str, Value]
    ) -> Relationship:
        """Create a relationship."""

    def set_properties(self, entity: Node | Relationship, properties: Mapping[str, Value]) -> None:
        """Set properties of an entity at once."""

    def delete(self, entities: Sequence[Node | Relationship], *, detach: bool) -> None:
        """Delete nodes and relationships."""


class CallGraph(ProcedureGraph):
    """The graph of a call: it writes as the clauses of the statement do."""

    def __init__(self, reader: GraphReader, writes: Writes, procedure: Procedure) -> None:
        self._reader = reader
        self._writes = writes
        self._procedure = procedure
        self._error: TwinframeError | None = None

    @property
    def reader(self) -> GraphReader:
        """See `ProcedureGraph`."""
        return self._reader

    def create_node(self, labels: Sequence[str], properties: Mapping[str, Value]) -> Node:
        """See `ProcedureGraph`."""
        with self._writing(Effect.WRITE_NODES):
            return self._writes.create_node(tuple(labels), properties, is_read=True)

    def create_relationship(
        self, source: Node, target: Node, kind: str, properties: Mapping[str, Value]
    ) -> Relationship:
        """See `ProcedureGraph`."""
        with self._writing(Effect.WRITE_RELATIONSHIPS):
            return self._writes.create_relationship(source, target, kind, properties)

    def set_properties(self, entity: Node | Relationship, properties: Mapping[str, Value]) -> None:
        """See `ProcedureGraph`."""
        is_node = isinstance(entity, Node)
        with self._writing(Effect.WRITE_NODES if is_node else Effect.WRITE_RELATIONSHIPS):
            self._writes.set_properties(entity, properties)

    def delete(self, entity: Node | Relationship, *, detach: bool = False) -> None:
        """See `ProcedureGraph`."""
        is_node = isinstance(entity, Node)
        effects = [Effect.DELETE_NODES] if is_node else []
        if detach or not is_node:
            effects.append(Effect.DELETE_RELATIONSHIPS)
        with self._writing(*effects):
            self._writes.delete([entity], detach=detach)

    def check(self) -> None:
        """Raise the first error of a write again.

        NOTE: half of the write may be done, whatever the procedure made of the error.
        """
        if self._error is not None:
            raise self._error

    @contextmanager
    def _writing(self, *effects: Effect) -> Iterator[None]:
        """Refuse what is not declared, and keep an error for `run_procedure`.

        SEC: the permissions of the caller were checked for what the procedure declares.
        """
        try:
            for effect in effects:
                if effect not in self._procedure.effects:
                    reason = f"it does not declare that it may {effect.value}"
                    raise _build_failed(self._procedure, reason)
            yield
        except TwinframeError as error:
            self._error = self._error or error
            raise


def run_procedure(
    procedure: Procedure, graph: CallGraph, given: Sequence[Value], span: Span | None
) -> Iterator[Sequence[Value]]:
    """Yield the rows of a call. Raises QueryInvalid, also for any error of a plugin's code."""
    for value, (name, kind) in zip(given, procedure.arguments, strict=True):
        if not accepts(kind, value):
            error = build_type_error(
                f"'{name}' of {procedure.signature} cannot be {name_type(value)}."
            )
            raise note_span(error, span)
    try:
        for row in procedure.run(graph, given):
            _check_row(procedure, row)
            yield row
        graph.check()
    except TwinframeError as error:
        if isinstance(error, QueryInvalid):
            note_span(error, span)
        raise
    except Exception as error:  # third-party code may raise anything
        _log.exception("The procedure %s failed.", procedure.name)
        what = f"{type(error).__name__}; the log of the service says more"
        raise note_span(_build_failed(procedure, what), span) from error


def _check_row(procedure: Procedure, row: Sequence[Value]) -> None:
    results = procedure.results
    if len(row) != len(results) and results:
        raise _build_failed(procedure, f"a row has {len(row)} values, not {len(results)}")
    for value, (name, kind) in zip(row, results, strict=False):
        if value is not None and not accepts(kind, value):
            raise _build_failed(procedure, f"'{name}' has the type {name_type(value)}, not {kind}")


def _build_failed(procedure: Procedure, reason: str) -> QueryInvalid:
    return QueryInvalid(
        f"The procedure {procedure.name} failed: {reason}.",
        kind="ProcedureError",
        detail="ProcedureCallFailed",
        phase="runtime",
    )
