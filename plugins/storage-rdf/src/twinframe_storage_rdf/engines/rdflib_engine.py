"""An rdflib dataset inside this process: pure Python, for small graphs.

Triples go through rdflib's store plugin API; queries are run by rdflib's own SPARQL engine, which
is slow.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import cast

import rdflib
from rdflib import Dataset, Graph, Literal, URIRef
from rdflib.plugins.sparql import prepareQuery
from rdflib.plugins.sparql.sparql import Query
from rdflib.store import NO_STORE, Store
from rdflib.term import Node

from twinframe.errors import ConfigurationError, StorageError, TwinframeError
from twinframe_storage_rdf.endpoint.rdflib_answers import answer_question
from twinframe_storage_rdf.engine import Change, Engine, Guard, Question, build_timeout
from twinframe_storage_rdf.mapping import Triple
from twinframe_storage_rdf.terms import (
    JSON_TEXT,
    XSD_BOOLEAN,
    XSD_DOUBLE,
    XSD_INTEGER,
    Iri,
    OtherLiteral,
    Row,
    Term,
    parse_literal,
    render_double,
)

_JSON = URIRef(JSON_TEXT)
_INTEGER = URIRef(XSD_INTEGER)
_DOUBLE = URIRef(XSD_DOUBLE)
_BOOLEAN = URIRef(XSD_BOOLEAN)


class _QuietDataset(Dataset):
    """A dataset whose query engine may use names that rdflib itself calls deprecated."""

    @property
    def default_context(self) -> Graph:
        return cast("Graph", self.default_graph)

    @default_context.setter
    def default_context(self, value: Graph) -> None:
        self.default_graph = value

    @property
    def identifier(self) -> URIRef:
        return cast("URIRef", self.default_graph.identifier)


class RdflibEngine(Engine):
    """Reads and writes exclude each other; a read returns with all its rows in memory.

    `store` is the name of an rdflib store plugin with named graphs, `configuration` its parameter
    when it is opened. NOTE: a store plugin receives triples one by one: after a crash its files may
    hold half of a write.
    """

    dialect = f"rdflib {rdflib.__version__}"

    row_nanoseconds = 1_000_000

    def __init__(self, store: str = "default", configuration: str = "") -> None:
        self._store = store
        self._configuration = configuration
        self._dataset = _QuietDataset(default_union=False)
        self._is_open = False
        self._turn = threading.RLock()

    def open(self) -> None:
        """Create the store; one without configuration lives as long as this object."""
        if self._is_open:
            return
        store = _build_rdflib_store(self._store)
        if self._configuration:
            try:
                if store.open(self._configuration, create=False) == NO_STORE:
                    store.open(self._configuration, create=True)
            except OSError as error:
                raise ConfigurationError(
                    f"The rdflib store {self._store!r} does not open "
                    f"{self._configuration!r}: {error}"
                ) from error
        self._dataset = _QuietDataset(store=store, default_union=False)
        self._is_open = True

    def close(self) -> None:
        """Close a store that was opened with a configuration."""
        if self._configuration and self._is_open:
            self._dataset.store.close(commit_pending_transaction=True)
            self._is_open = False

    def select(self, text: str, deadline: float | None = None) -> Iterator[Row]:
        """Return the rows, read whole."""
        with self._turn:
            try:
                return iter(self._read(text, deadline))
            except TwinframeError:
                raise
            except Exception as error:  # rdflib raises any kind of exception for what it cannot run
                raise StorageError(f"rdflib does not run this query: {error}") from error

    def _read(self, text: str, deadline: float | None) -> list[Row]:
        rows: list[Row] = []
        result = self._dataset.query(_prepare(text), use_store_provided=False)
        names = result.vars or []
        # NOTE: iterating over the result itself omits rows in which nothing is bound.
        for binding in result.bindings:
            if deadline is not None and time.monotonic() >= deadline:
                raise build_timeout()
            rows.append(tuple([_read_term(binding.get(name)) for name in names]))
        return rows

    def ask(self, text: str, deadline: float | None = None) -> bool:
        """The answer."""
        del deadline
        with self._turn:
            return bool(self._dataset.query(text, use_store_provided=False).askAnswer)

    def answer(self, question: Question, deadline: float, write: Callable[[bytes], object]) -> None:
        """Run a caller's query while there is no writer."""
        with self._turn:
            answer_question(self._dataset, question, deadline, write)

    def commit(self, change: Change) -> bool:
        """Check the guard and apply the change while there is no reader."""
        with self._turn:
            if not self._holds(change.guard):
                return False
            for graph, triples in change.removed:
                at = self._dataset.graph(URIRef(graph))
                for subject, predicate, value in triples:
                    term = None if value is None else _build_term(value)
                    at.remove((URIRef(subject), URIRef(predicate), term))
            for graph, triples in change.added:
                at = self._dataset.graph(URIRef(graph))
                at.addN((*_build_triple(triple), at) for triple in triples)
            return True

    def clear(self, graphs: Sequence[Iri]) -> None:
        """Remove the graphs."""
        with self._turn:
            for graph in graphs:
                self._dataset.remove_graph(self._dataset.graph(URIRef(graph)))

    def _holds(self, guard: Guard) -> bool:
        at = self._dataset.graph(URIRef(guard.graph))
        subject, predicate = URIRef(guard.subject), URIRef(guard.predicate)
        if guard.value is None:
            return (subject, predicate, None) not in at
        return (subject, predicate, _build_term(guard.value)) in at


def _build_rdflib_store(name: str) -> Store:
    """Return the rdflib store plugin with this name.

    Raises `ConfigurationError` if it is unsuitable.
    """
    try:
        store = rdflib.plugin.get(name, Store)()
    except rdflib.plugin.PluginException as error:
        known = sorted({found.name for found in rdflib.plugin.plugins(kind=Store)})
        raise ConfigurationError(
            f"Storage__Rdf__RdflibStore: rdflib knows no store {name!r}; it knows "
            f"{', '.join(known)}."
        ) from error
    if not store.graph_aware:
        raise ConfigurationError(
            f"Storage__Rdf__RdflibStore: the store {name!r} has no named graphs, which are needed."
        )
    return store


@lru_cache(maxsize=256)
def _prepare(text: str) -> Query:
    # PERF: parsing a one-line text takes 10 ms, and some texts are part of each read.
    return prepareQuery(text)


def _build_triple(triple: Triple) -> tuple[URIRef, URIRef, Node]:
    subject, predicate, value = triple
    return URIRef(subject), URIRef(predicate), _build_term(value)


def _build_term(value: Term) -> Node:
    if isinstance(value, Iri):
        return URIRef(value)
    if isinstance(value, str):
        return Literal(str(value))
    if isinstance(value, bool):
        return Literal("true" if value else "false", datatype=_BOOLEAN)
    if isinstance(value, int):
        return Literal(str(value), datatype=_INTEGER)
    if isinstance(value, float):
        return Literal(render_double(value), datatype=_DOUBLE, normalize=False)
    if isinstance(value, bytes):
        return Literal(value.decode(), datatype=_JSON)
    if isinstance(value, OtherLiteral):
        return Literal(value.text, datatype=URIRef(value.datatype), normalize=False)
    raise TypeError("an unbound value is no term of a triple")


def _read_term(found: Node | None) -> Term:
    if found is None:
        return None
    if isinstance(found, URIRef):
        return Iri(found)
    if isinstance(found, Literal):
        return parse_literal(str(found), None if found.datatype is None else str(found.datatype))
    raise StorageError(f"A query gave a term that no twin graph has: {found!r}")
