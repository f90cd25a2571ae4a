"""The interface of an RDF engine: named graphs that are read by SPARQL and changed in one atomic
step.

Only this plugin writes the texts given to an engine, except for the questions of `Engine.answer`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import ClassVar

from twinframe.errors import QueryTimeout, Unsupported
from twinframe.storage.triples import QueryForm
from twinframe_storage_rdf.mapping import Triple
from twinframe_storage_rdf.terms import Iri, Row, Term


@dataclass(frozen=True, slots=True)
class Guard:
    """A triple of `graph` that must exist; `value` None: none of this predicate may."""

    graph: Iri
    subject: Iri
    predicate: Iri
    value: Term


@dataclass(frozen=True, slots=True)
class Change:
    """Triples to remove and to add in one step, if the graph is still as it was read.

    `guard` is the version of the graph that the change was computed from, which the change itself
    replaces. `removed` and `added` are by named graph and disjoint. `marker` is one of `added`, in
    the graph of the guard, and new with each change: a client that lost the answer asks for it.

    A triple of `removed` whose value is None stands for any literal of its subject and predicate: a
    long text need not be sent to be deleted.
    """

    guard: Guard
    marker: Triple
    removed: Sequence[tuple[Iri, Sequence[Triple]]]
    added: Sequence[tuple[Iri, Sequence[Triple]]]


@dataclass(frozen=True, slots=True)
class Question:
    """A caller's query, checked by `endpoint`, and the only graphs that it may read.

    `media_type` is that of the answer, one of those that the form has. `limit` is the size of the
    answer in bytes. The text has no FROM clause.
    """

    text: str
    default: Iri | None
    named: Iri | None
    media_type: str
    form: QueryForm
    limit: int


class Engine(ABC):
    """One dataset. Any thread may call; calls may block. Errors are of `twinframe.errors`.

    Each `select` and `ask` reads one state of the dataset, the newest one that any `commit` of any
    process returned before, and is not disturbed by what comes later.

    """

    is_remote: ClassVar[bool] = False
    """Whether requests are slow enough that prefetching for many at a time pays off."""

    row_nanoseconds: ClassVar[int] = 40_000
    """The processor time that one row stands for; longer queries count for more rows."""

    @property
    @abstractmethod
    def dialect(self) -> str | None:
        """The dialect that engines with the same answers share: one of them is probed for all.

        None says that the engine answers SPARQL exactly, errors and types included, as the tests of
        the compiler check.
        """

    @property
    def keeps_numbers(self) -> bool:
        """Whether numbers come back as they were written; documents always do."""
        return True

    @abstractmethod
    def open(self) -> None:
        """Open or create the dataset, in the process that will use it."""

    @abstractmethod
    def close(self) -> None:
        """Release all resources. Nothing may be running."""

    @abstractmethod
    def select(self, text: str, deadline: float | None = None) -> Iterator[Row]:
        """Yield the rows of a SELECT: one term for each variable, in the order of the query.

        They show the state at the time of the call, not of the first row. `deadline` is a
        `time.monotonic()` moment; after it `QueryTimeout` is raised.
        """

    def small_answers(self, most_bytes: int) -> AbstractContextManager[None]:
        """Raise `CannotRun` for larger answers in this thread, if the engine can tell early.

        See `GraphSession.small_reads`.
        """
        del most_bytes
        return nullcontext()

    def query(self, text: str, deadline: float | None = None) -> Iterator[Row]:
        """`select` for a text made from a caller's query, which may take any time and memory.

        Raises `LimitExceeded` when it takes more memory than it may.
        """
        return self.select(text, deadline)

    @abstractmethod
    def ask(self, text: str, deadline: float | None = None) -> bool:
        """Return the answer to an ASK."""

    def writing(self, state: Iri, deadline: float) -> AbstractContextManager[None]:
        """Hold the writer lock of the graph with this state, in an engine that needs one.

        Reads inside usually stay valid until `commit`; the guard of the change makes sure of it.
        Raises `StorageBusy` when the lock is not free before the `time.monotonic()` moment.
        """
        del state, deadline
        return nullcontext()

    def answer(self, question: Question, deadline: float, write: Callable[[bytes], object]) -> None:
        """Run a caller's query and write its answer.

        Raises `SparqlInvalid` when the text is not a query.
        """
        del question, deadline, write
        raise Unsupported("This engine runs no queries of callers.")

    def read_time(self) -> int:
        """The nanoseconds of another process's CPU that this thread's queries took so far."""
        return 0

    @abstractmethod
    def commit(self, change: Change) -> bool:
        """Apply the change atomically, and durably as far as the engine can.

        False means that the guard does not hold and nothing was changed. Raises `StorageError` when
        it is unknown whether the change was applied; it is never applied in part.
        """

    @abstractmethod
    def clear(self, graphs: Sequence[Iri]) -> None:
        """Remove all triples of these graphs, atomically."""

    def destroy(self, names: Sequence[Iri], timeout: float) -> None:
        """Remove these graphs with all files of their own; the engine is not open here.

        Raises `StorageBusy` when others still have it open after `timeout` seconds.
        """
        del timeout
        self.open()
        try:
            self.clear(names)
        finally:
            self.close()


def build_timeout() -> QueryTimeout:
    """Build the error for a read that passed its deadline."""
    return QueryTimeout("The query ran longer than it may (Query__Timeout) and was stopped.")
