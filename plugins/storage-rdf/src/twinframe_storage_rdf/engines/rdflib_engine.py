"""An rdflib dataset inside this process: pure Python, for small graphs.

Triples go through rdflib's store plugin API; queries are run by rdflib's own SPARQL engine, which
is slow.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final, cast

import rdflib
from pyparsing import ParseException
from rdflib import Dataset, Graph, Literal, URIRef
from rdflib.paths import Path
from rdflib.plugins.sparql import prepareQuery
from rdflib.plugins.sparql.parserutils import CompValue
from rdflib.plugins.sparql.sparql import Query, SPARQLError
from rdflib.query import Result
from rdflib.store import NO_STORE, Store
from rdflib.term import Node

from twinframe.errors import ConfigurationError, SparqlInvalid, StorageError, TwinframeError
from twinframe_storage_rdf.endpoint.writing import (
    LimitedWriter,
    build_late_answer,
    check_deadline,
    read_rows,
    read_triples,
    write_rows,
    write_triples,
)
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
_DEFAULT: Final = URIRef("urn:twinframe:endpoint:default")
_TURN: Final = 256
_REFUSED: Final = {
    "ServiceGraphPattern": "SERVICE",
    "Builtin_REGEX": "REGEX",
    "Builtin_REPLACE": "REPLACE",
}
_AGAIN: Final = 1.0
"""Seconds between attempts: rdflib swallows some errors of any kind and treats them as false."""


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
        self._lock = threading.RLock()

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
        with self._lock:
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
        with self._lock:
            return bool(self._dataset.query(text, use_store_provided=False).askAnswer)

    def answer(self, question: Question, deadline: float, write: Callable[[bytes], object]) -> None:
        """Run a caller's query over the one graph that it may see, while there is no writer.

        SEC: rdflib fetches what FROM names and calls what SERVICE names, and its regular
        expressions cannot be stopped. None of these is run, even if the earlier check of the text
        missed one.
        """
        out = LimitedWriter(question.limit, deadline, write)
        data = self._dataset.graph(URIRef(str(question.default or question.named)))

        def apply() -> None:
            query = _parse(question.text)
            result = _OneGraph(question, data, deadline).query(query)
            _write(result, question.media_type, out)

        with self._lock:
            try:
                run_until(deadline, apply)  # joins of lists in the text touch no watched triple
            except SPARQLError as error:
                raise SparqlInvalid(f"The query cannot be run: {error}.") from error

    def commit(self, change: Change) -> bool:
        """Check the guard and apply the change while there is no reader."""
        with self._lock:
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
        with self._lock:
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


# --- answers to callers ---------------------------------------------------------------------------


class _WatchedGraph(Graph):
    """A graph that shows the triples of another one until a deadline."""

    def __init__(self, shown: Graph | None, name: URIRef, deadline: float) -> None:
        super().__init__(identifier=name)
        self._shown = shown
        self._deadline = deadline

    def triples(self, triple: Any) -> Generator[Any, None, None]:
        """Yield the triples that match the pattern."""
        check_deadline(self._deadline)
        if self._shown is None:
            return
        subject, predicate, value = triple
        if isinstance(predicate, Path):  # a path reads its steps through this method
            for start, end in predicate.eval(self, subject, value):
                yield start, predicate, end
            return
        for at, found in enumerate(self._shown.triples(triple)):
            if at % _TURN == 0:
                check_deadline(self._deadline)
            yield found

    def __len__(self) -> int:
        return 0 if self._shown is None else len(self._shown)


class _OneGraph(Dataset):
    """A dataset of one graph, which is the default graph, the only named one, or both."""

    def __init__(self, question: Question, data: Graph, deadline: float) -> None:
        super().__init__()
        shown = None if question.default is None else data
        self._view = _WatchedGraph(shown, _DEFAULT, deadline)
        self._named: dict[str, Graph] = {}
        if question.named is not None:
            name = URIRef(question.named)
            self._named[question.named] = _WatchedGraph(data, name, deadline)
        self._nothing = _WatchedGraph(None, URIRef("urn:twinframe:endpoint:none"), deadline)

    @property
    def default_context(self) -> Graph:
        return self._view

    @default_context.setter
    def default_context(self, value: Graph) -> None:
        """Ignore the graph that the parent class sets; it is never read."""

    @property
    def identifier(self) -> URIRef:
        return _DEFAULT

    def triples(self, triple: Any, context: Any = None) -> Generator[Any, None, None]:
        """Yield the triples of the default graph, which rdflib takes the dataset itself for."""
        yield from self._view.triples(triple)

    def contexts(self, triple: Any = None) -> Generator[Graph, None, None]:
        """The named graphs."""
        yield from self._named.values()

    def get_context(self, identifier: Any, *_: Any, **__: Any) -> Graph:
        """The graph of this name; an empty one if there is none."""
        return self._named.get(str(identifier), self._nothing)


def _parse(text: str) -> Query:
    try:
        query = prepareQuery(text)
    except ParseException as error:
        raise SparqlInvalid(f"Line {error.lineno}, column {error.col}: {error.msg}.") from error
    except RecursionError as error:
        raise SparqlInvalid("The query is nested too deeply for this engine.") from error
    except Exception as error:  # rdflib raises any kind of exception for what it cannot parse
        raise SparqlInvalid(f"The query cannot be read: {error}.") from error
    query.algebra.pop("datasetClause", None)  # the dataset is given by the question
    for node in _iterate(query.algebra):
        refused = _REFUSED.get(node.name)
        if refused is not None:
            raise SparqlInvalid(f"{refused} is refused: the engine rdflib could not stop it.")
    return query


def _iterate(node: object) -> Iterator[CompValue]:
    todo = [node]
    while todo:
        one = todo.pop()
        if isinstance(one, CompValue):
            yield one
            todo += one.values()
        elif isinstance(one, dict):
            todo += one.values()
        elif isinstance(one, list | tuple | set):
            todo += one


def _write(result: Result, media_type: str, out: LimitedWriter) -> None:
    try:
        if result.graph is not None:
            text = result.graph.serialize(format="nt", encoding="utf-8")
            write_triples(read_triples(iter([text])), media_type, out)
        else:
            write_rows(read_rows(iter([result.serialize(format="json") or b""])), media_type, out)
    except (SyntaxError, ValueError) as error:
        raise SparqlInvalid(f"The answer has a term that is not valid: {error}.") from error


# --- the deadline ---------------------------------------------------------------------------------


class _Ended(BaseException):
    """Raised in the thread; a BaseException, so that `except Exception` does not catch it."""


def run_until(deadline: float, work: Callable[[], None]) -> None:
    """Run `work`; raise `QueryTimeout` at the `time.monotonic()` moment if it has not ended.

    Only for Python code that cannot be stopped in another way and changes nothing.
    """
    thread = threading.get_ident()
    guard = threading.Lock()
    is_over = threading.Event()

    def watch() -> None:
        wait = deadline - time.monotonic()
        while not is_over.wait(max(0.0, wait)):
            with guard:
                if not is_over.is_set():
                    _raise(thread, _Ended)
            wait = _AGAIN

    def settle() -> None:
        with guard:  # from here on none is sent; one that was sent but not raised yet is withdrawn
            is_over.set()
            _raise(thread, None)

    try:
        try:
            threading.Thread(target=watch, name="twinframe-alarm", daemon=True).start()
            work()
        finally:
            settle()
    except _Ended:
        settle()  # an error may have come during the first call
        raise build_late_answer() from None


def _raise(thread: int, error: type[BaseException] | None) -> None:
    """SPEC: CPython C API, PyThreadState_SetAsyncExc: raised at a next bytecode; None: not."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread), None if error is None else ctypes.py_object(error)
    )
