"""The port of query engines: what a store that runs plans itself offers, and how it declines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from twinframe.errors import TwinframeError
from twinframe.model.values import Value
from twinframe.query.algebra import Query
from twinframe.query.evaluate.member_typing import MemberTyping
from twinframe.query.measures import Measures
from twinframe.query.reader import GraphReader


class CannotRun(TwinframeError):
    """An engine declines a plan (never an error of the caller): the evaluator runs that part.

    It may also be raised while rows are read, when a value needs what the engine cannot do; then
    the evaluator runs the query from its start.
    """

    code = "CannotRun"


JsonRow: TypeAlias = tuple[bytes, int | str | None]
"""One result row: its JSON text, and the key that resumes a plain scan after it, else None.

PERF: a bare pair, as SQLite gives it: with an object for each row, a page costs a quarter more.
"""


STORED_TIME: Final = "the order of a stored time"
"""The function name that an engine may find in a sort key, and only there: the temporal value of a
node's member, as the node's model declares it. Its arguments are the node, the member's name as a
constant, and a map from temporal schemas to lists of the ids of the interfaces that declare the
member with them.
"""


class JoinEstimate(NamedTuple):
    """A table as it is joined, its `alias` in the statement, and the `rows` estimated after it.

    With `grouped`, rows that later joins cannot tell apart become one; `rows` are those left.
    `counting` is the statement that counts them; None where the engine has none.
    """

    table: str
    alias: str
    rows: float
    grouped: bool = False
    counting: str | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a run of a compiled query would be answered now, for EXPLAIN.

    `engine` is the name of the engine that would, where it is another than the one that compiled
    it. `declined` says in words why engines would not that the store prefers to its own. `joins`
    are those whose order the engine chose, a list for each part of the statement. `statement` is
    what would run, where it is another than the `text` of the compiled query.
    """

    indexes: Sequence[str] = ()
    engine: str | None = None
    declined: Mapping[str, str] = field(default_factory=dict)
    joins: Sequence[Sequence[JoinEstimate]] = ()
    statement: str | None = None


class CompiledQuery(ABC):
    """A plan compiled by an engine: immutable, shared by threads, run with a session of the caller.

    `text` is the statement that the engine runs (SQL, SPARQL), shown by EXPLAIN. `resumable` says
    that the rows come in the order of a unique key, so that a page can start after the key of the
    last row.
    """

    text: str
    resumable: bool
    short_seconds: float = 0.0015
    """The processor time of a run up to which the next one is tried with a reader that is short.

    PERF: a statement takes 0.3 to 1 ms more when its connection runs it for the first time. With
    0.5 ms it was chance, on a slow machine, whether a point read ever left the threads.
    """

    @abstractmethod
    def run_json(
        self,
        session: GraphReader,
        parameters: Mapping[str, Value],
        *,
        after: int | str | None = None,
        skip: int = 0,
        limit: int | None = None,
    ) -> Iterator[JsonRow]:
        """Yield result rows in the query's shape, ready for the wire, leaving out the first
        `skip`.

        A resumable query may yield rows without keys where these are all that there are. With a
        reader that is short, `CannotRun` says that it cannot be short now, but may be later.
        """

    def count_answered(self, session: GraphReader) -> None:  # noqa: B027  (most have no use for it)
        """Note that another engine answered a run of this query: a store that makes indexes by
        itself may want one for it.
        """

    @abstractmethod
    def run_rows(
        self, session: GraphReader, parameters: Mapping[str, Value]
    ) -> Iterator[tuple[Value, ...]]:
        """Yield rows as values in the order of the query's columns, for the evaluator."""

    def list_indexes(self, session: GraphReader, parameters: Mapping[str, Value]) -> Sequence[str]:
        """The indexes that a run would use in the present graph, for EXPLAIN; () if unknown."""
        del session, parameters
        return ()

    def explain(self, session: GraphReader, parameters: Mapping[str, Value]) -> Explanation:
        """How a run would be answered in the present graph."""
        return Explanation(self.list_indexes(session, parameters))

    def build_measured(self, measures: Measures) -> CompiledQuery:
        """Return the query with a note of what each operator did in `measures` after a run, where
        an engine answers that runs operators one by one.
        """
        del measures
        return self

    def count_joins(
        self, session: GraphReader, parameters: Mapping[str, Value], joins: Sequence[JoinEstimate]
    ) -> Iterator[int | None]:
        """Yield the number of rows after each of these joins of `explain`, for PROFILE; None where
        they cannot be counted apart from the statement.
        """
        del session, parameters
        yield from [None] * len(joins)


class QueryEngine(ABC):
    """The part of query execution that a store does itself."""

    name: str
    typed_name: str | None = None
    """What EXPLAIN calls the engine that `compile_typed` compiles for."""
    shares_plans: bool = False
    """Whether a run with a parameter is as fast as one with a literal in its place, so that texts
    that differ only in literals may share a plan.
    """

    @abstractmethod
    def compile(self, query: Query, parameters: Mapping[str, Value]) -> CompiledQuery:
        """Compile a whole query, or raise `CannotRun` naming the first operator it cannot run.

        Of `parameters` only names and types may be used: the compiled query is run again with other
        values of the same types (`parameter_signature`).
        """

    def compile_typed(
        self, query: Query, parameters: Mapping[str, Value], typing: MemberTyping
    ) -> CompiledQuery:
        """Compile a whole query that reads members as the temporal values that models declare.

        A run of it may raise `CannotRun` at any time; another way to run the query is then there.
        """
        del query, parameters, typing
        raise CannotRun("Members with types other than JSON's.")

    @property
    def statements(self) -> QueryEngine:
        """The engine that runs plans as statements, by which PROFILE counts rows of operators."""
        return self

    def close(self) -> None:  # noqa: B027  # most engines have nothing to end
        """End what the engine does beside queries: none runs any more, the store is still open."""
