"""What every engine promises: named graphs that SPARQL reads and one atomic step changes.

It knows no twin. Text given to an engine is made by this plugin alone, never by a caller.
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
    """A triple of the graph `graph` that must be there; `value` None: none of this predicate."""

    graph: Iri
    subject: Iri
    predicate: Iri
    value: Term


@dataclass(frozen=True, slots=True)
class Change:
    """Triples that go and triples that come, in one step, if the graph is still as it was read.

    `guard` is the version of the graph that the change was computed from, which the change itself
    replaces. `removed` and `added` are by named graph and disjoint. `marker` is one of `added`, in
    the graph of the guard, and new with each change: who lost the answer asks for it.

    A triple of `removed` whose value is None stands for whatever literal its subject has under its
    predicate: a long text need not be sent to be deleted.
    """

    guard: Guard
    marker: Triple
    removed: Sequence[tuple[Iri, Sequence[Triple]]]
    added: Sequence[tuple[Iri, Sequence[Triple]]]


@dataclass(frozen=True, slots=True)
class Question:
    """A caller's query, read by `endpoint`, and the only graphs that it may see.

    `media_type` is that of the answer, one of those that the form has. `limit` are the bytes of the
    answer. The text says nothing of graphs.
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

    is_far: ClassVar[bool] = False
    """Whether a request takes so long that many at a time are worth a guess at what is next."""

    row_nanoseconds: ClassVar[int] = 40_000
    """Processor time of a row that stands for itself; a query that takes longer does more."""

    @property
    @abstractmethod
    def dialect(self) -> str | None:
        """What is alike for engines that answer alike: one of them is asked what it can.

        None says that it answers SPARQL to the letter, errors and types included, as the tests of
        the compiler hold it to.
        """

    @property
    def keeps_numbers(self) -> bool:
        """Whether numbers come back as they were written; documents always do."""
        return True

    @abstractmethod
    def open(self) -> None:
        """Open or create; in the process that will use it."""

    @abstractmethod
    def close(self) -> None:
        """Give everything back. Nothing may be running."""

    @abstractmethod
    def select(self, text: str, deadline: float | None = None) -> Iterator[Row]:
        """The rows of a SELECT: one term for each variable, in the order of the query.

        The state that is read is that of the call, not of the first row. `deadline` is a
        `time.monotonic()` moment; after it `QueryTimeout`.
        """

    def query(self, text: str, deadline: float | None = None) -> Iterator[Row]:
        """`select` for a text that was made of a caller's query: it may take any time and memory.

        `LimitExceeded` when it takes more memory than it may.
        """
        return self.select(text, deadline)

    @abstractmethod
    def ask(self, text: str, deadline: float | None = None) -> bool:
        """The answer to an ASK."""

    def writing(self, state: Iri, deadline: float) -> AbstractContextManager[None]:
        """The turn to write the graph with this state, for an engine that needs to be told.

        What is read inside stays so until `commit`, as a rule; the guard of the change makes sure.
        `StorageBusy` when the turn does not come before the `time.monotonic()` moment.
        """
        del state, deadline
        return nullcontext()

    def answer(self, question: Question, deadline: float, write: Callable[[bytes], object]) -> None:
        """Run a caller's query and write its answer. `SparqlInvalid` when the text is none."""
        del question, deadline, write
        raise Unsupported("This engine runs no queries of callers.")

    def read_time(self) -> int:
        """Nanoseconds of another process's processor that this thread's questions took so far."""
        return 0

    @abstractmethod
    def commit(self, change: Change) -> bool:
        """Apply the change atomically, and durably as far as the engine can; False: not any more.

        False says that the guard does not hold and nothing was changed. `StorageError` when it is
        not known whether the change was applied; it is never applied in part.
        """

    @abstractmethod
    def clear(self, graphs: Sequence[Iri]) -> None:
        """Take all triples out of these graphs, atomically."""

    def destroy(self, names: Sequence[Iri], timeout: float) -> None:
        """Take these graphs away, with all files of their own; the engine is not open here.

        `StorageBusy` when others have it open for `timeout` seconds more.
        """
        del timeout
        self.open()
        try:
            self.clear(names)
        finally:
            self.close()


def build_timeout() -> QueryTimeout:
    """What a read is answered that passed its deadline."""
    return QueryTimeout("The query ran longer than it may (Query__Timeout) and was stopped.")
