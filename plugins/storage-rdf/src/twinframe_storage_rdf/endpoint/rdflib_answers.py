"""Runs a caller's query on one graph of an rdflib store, until a deadline.

SEC: rdflib fetches what FROM names and calls what SERVICE names, and its regular expressions cannot
be stopped. None of these is run, even if the earlier check of the text missed one.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Generator, Iterator
from typing import Any, Final

from pyparsing import ParseException
from rdflib import Dataset, Graph, URIRef
from rdflib.paths import Path
from rdflib.plugins.sparql import prepareQuery
from rdflib.plugins.sparql.parserutils import CompValue
from rdflib.plugins.sparql.sparql import Query, SPARQLError
from rdflib.query import Result

from twinframe.errors import SparqlInvalid
from twinframe_storage_rdf.endpoint.writing import (
    LimitedWriter,
    build_late_answer,
    check_deadline,
    parse_rows,
    parse_triples,
    write_rows,
    write_triples,
)
from twinframe_storage_rdf.engine import Question

_DEFAULT: Final = URIRef("urn:twinframe:endpoint:default")
_TURN: Final = 256
_REFUSED: Final = {
    "ServiceGraphPattern": "SERVICE",
    "Builtin_REGEX": "REGEX",
    "Builtin_REPLACE": "REPLACE",
}
_AGAIN: Final = 1.0
"""Seconds between attempts: rdflib swallows some errors of any kind and treats them as false."""


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


def answer_question(
    dataset: Dataset, question: Question, deadline: float, write: Callable[[bytes], object]
) -> None:
    """Run the query over the one graph of `dataset` that it may see."""
    out = LimitedWriter(question.limit, deadline, write)
    name = question.default or question.named
    data = dataset.graph(URIRef(str(name)))

    def apply() -> None:
        query = _parse(question.text)
        result = _OneGraph(question, data, deadline).query(query)
        _write(result, question.media_type, out)

    try:
        run_until(deadline, apply)  # joins of lists in the text touch no watched triple
    except SPARQLError as error:
        raise SparqlInvalid(f"The query cannot be run: {error}.") from error


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


# --- answers --------------------------------------------------------------------------------------


def _write(result: Result, media_type: str, out: LimitedWriter) -> None:
    try:
        if result.graph is not None:
            text = result.graph.serialize(format="nt", encoding="utf-8")
            write_triples(parse_triples(iter([text])), media_type, out)
        else:
            write_rows(parse_rows(iter([result.serialize(format="json") or b""])), media_type, out)
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
