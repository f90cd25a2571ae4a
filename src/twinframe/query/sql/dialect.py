"""The port of SQL dialects: how one engine writes what the layer compiles.

A storage plugin implements `Dialect` and, for what its engine can do besides, `Extensions`. Every
text is SQL of the engine. It may decline anything with `CannotRun`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, TypeAlias

from twinframe.query.algebra import AggregateKind
from twinframe.query.engine import CannotRun
from twinframe.query.sql import kinds as k
from twinframe.query.sql.bindings import Bindings
from twinframe.query.sql.term import Member, Term, may_fail

Carry: TypeAlias = Callable[[str], str]
"""Returns the name of an expression over a row where the rows are grouped, or the expression
itself.
"""

TAGS: Final[Mapping[int, tuple[str, ...]]] = {
    k.NUMBER: ("'integer'", "'real'"),
    k.STRING: ("'text'",),
    k.BOOLEAN: ("'true'", "'false'"),
    k.LIST: ("'array'",),
    k.MAP: ("'object'",),
    k.NODE: ("'node'",),
    k.RELATIONSHIP: ("'relationship'",),
}
"""The names that the `tag` of a term has for each class of kinds; that of null is 'null'."""


@dataclass(frozen=True, slots=True)
class Joins:
    """The sources and conditions of a SELECT, noted by a dialect that arranges them later.

    With `keys`, the aliases of tables, only the number of rows for each of their rows is wanted, as
    the derived table `alias`.
    """

    sources: tuple[str, ...]
    conditions: tuple[str, ...]
    keys: tuple[str, ...] | None = None
    alias: str = ""


class Dialect(ABC):
    """How an engine writes values, tests, orders and aggregates. Immutable.

    The store has the tables of `tables` for twins (`id`, `dt_id`, `model`, `etag`, `document`) and
    relationships (`id`, `source`, `target`, `relationship_id`, `name`, `etag`, `document`), and the
    tables `interface` (`id`, `dtmi`, `name`, `position`) and `interface_closure` (`ancestor`,
    `descendant`). Texts in columns are ordered by code point.
    """

    tables: ClassVar[Mapping[int, str]] = {k.NODE: "twin", k.RELATIONSHIP: "relationship"}
    """The table of each kind of entity."""
    native: ClassVar[int]
    """The kinds that one column can hold together such that each value tells its kind."""
    yes: ClassVar[str] = "TRUE"
    no: ClassVar[str] = "FALSE"
    ordered_join: ClassVar[str] = "JOIN"
    """The word of a join of two tables in the order of the text, where the engine obeys one."""
    unconditional: ClassVar[str] = " ON TRUE"
    """What follows a joined table without a condition."""
    volatile: ClassVar[str] = ""
    """How the names of functions begin whose values an index is searched for only if a derived
    table computes them before; empty where it is searched for any.
    """
    no_limit: ClassVar[str] = "ALL"
    """The LIMIT of a page that has an OFFSET alone."""
    unites_steps: ClassVar[bool] = False
    """Whether a recursive table may have several arms that read it."""
    both_ways: ClassVar[str] = ""
    """The relationships in both directions, as a table with the columns `origin` and `reached`, and
    as `way` 0 or 1; empty where an engine finds either end of a relationship by itself.
    """
    folds_nulls: ClassVar[bool] = False
    """Whether an operator computes nothing when the engine sees beforehand that an operand is
    NULL.
    """
    largest_statement: ClassVar[int] = 200_000
    """The number of characters of SQL above which a plan is left to the evaluator."""
    largest_operand: ClassVar[int] = 4_000
    """The number of characters of SQL above which an expression is not written repeatedly."""

    def is_plain(self, kinds: int) -> bool:
        """Return whether a native value alone determines which of `kinds` it is."""
        return k.is_plain(kinds, self.native)

    # --- traps and given values -----------------------------------------------------------------

    @abstractmethod
    def render_trap(self, reason: str, kinds: int = k.NULL) -> str:
        """Render a value of `kinds` that fails with `TRAP_MARK` and `reason` when it is computed.

        It must not be computed in a branch of CASE that is not taken.
        """

    @abstractmethod
    def render_limit(self, message: str) -> str:
        """Render an integer that fails with `LIMIT_MARK` and `message` when it is computed."""

    def render_models(self, label: str) -> str | None:
        """Render the array of the interfaces with a label, which the engine puts in at each run.

        None where the statement looks them up itself.
        """
        del label
        return None

    @abstractmethod
    def render_placeholder(self, name: str) -> str:
        """Render the placeholder of the bound value `name`."""

    def render_given(self, placeholder: str, kinds: int) -> str:
        """Render a bound value of `kinds`; a boolean was bound as 0 or 1, a list as JSON text."""
        return placeholder

    # --- values ---------------------------------------------------------------------------------

    @abstractmethod
    def build_member(self, member: Member) -> Term:
        """Build the term of a document's member, whose kind depends on the stored row."""

    @abstractmethod
    def build_nested(self, parent: Term, key: str) -> Term:
        """Build the member `key` of a term that may be a map; a trap for anything else but null."""

    @abstractmethod
    def build_json_term(self, text: str, kinds: int = k.JSON) -> Term:
        """Build the term of an expression that yields the JSON text of a value (or NULL)."""

    @abstractmethod
    def refine(self, term: Term, kinds: int) -> Term:
        """Return `term` known to be of `kinds` only."""

    def read(self, term: Term, kind_class: int) -> str:
        """Render the native value of a term of `kind_class`; NULL or anything for another value."""
        return term.value

    def read_plain(self, term: Term) -> str:
        """Render the native value of a term of plain kinds."""
        return term.value

    def read_as_column(self, term: Term, kinds: int) -> str:
        """Render a term of plain kinds for a column in which other rows have other `kinds`."""
        return self.read_plain(term)

    @abstractmethod
    def read_as(self, term: Term, kind_class: int, reason: str) -> str:
        """Render the native value of a term that must be of `kind_class` or null; else a trap."""

    @abstractmethod
    def render_json(self, term: Term) -> str:
        """Render the JSON text of the value; NULL or 'null' for null."""

    @abstractmethod
    def render_item(self, term: Term) -> str:
        """Render the JSON text of a member of a list or map, never NULL."""

    @abstractmethod
    def render_as_json(self, text: str) -> str:
        """Render JSON, as text or as the engine stores it in `document`, as a JSON value."""

    def render_check(self, term: Term, kind_class: int) -> str | None:
        """Render SQL that is 1 when the term is of `kind_class`; None when it always is, or is
        null.
        """
        if not term.kinds & ~(kind_class | k.NULL):
            return None
        if term.tag is None and not term.kinds & kind_class:
            return self.no
        if term.tag is None:
            return self.render_native_check(term.value, kind_class)
        names = TAGS[kind_class]
        one = len(names) == 1
        return f"{term.tag} = {names[0]}" if one else f"{term.tag} IN ({','.join(names)})"

    def render_truth(self, term: Term, *, wanted: bool) -> str:
        """Render whether a value with a `tag` is the boolean that is `wanted`; a trap for anything
        else but null.
        """
        test = f"{term.tag} = '{'true' if wanted else 'false'}'"
        trap = self.render_trap("a condition that is no boolean", k.BOOLEAN)
        return (
            f"CASE WHEN {term.tag} IN ('true','false','null') THEN {test}"
            f" WHEN {term.tag} IS NOT NULL THEN {trap} END"
        )

    def render_given_test(
        self, left: Term, operator: str, right: Term, kind_class: int
    ) -> str | None:
        """Render the comparison of two values of one class, with all checks, where one is given
        and the engine has a shorter way; else None.
        """
        del left, operator, right, kind_class
        return None

    def render_guard(self, term: Term, kind_class: int) -> str | None:
        """Render what a comparison of `read` needs besides: None where `read` gives NULL for values
        of other classes.
        """
        return self.render_check(term, kind_class)

    def render_native_check(self, value: str, kind_class: int) -> str:
        """Render whether a native value of several `native` kinds is of `kind_class`."""
        raise NotImplementedError(f"{type(self).__name__} has no native values of several kinds.")

    @abstractmethod
    def render_key(self, term: Term, *, traps: bool = True, comparable: bool = True) -> str:
        """Render SQL that is equal for equivalent values and differs for others; NULL for null.

        Lists and maps have no such key: each is a trap, or unless `traps` a value that stands for
        all of its type. Keys of other terms may be compared with it if `comparable`.
        """

    def render_distinct_key(self, term: Term, *, comparable: bool = True) -> str:
        """Render `render_key` for groups and DISTINCT, which lists and maps may have."""
        if term.kinds & k.LIST and not term.kinds & ~(k.LIST | k.NULL):
            return self.render_list_key(term)
        return self.render_key(term, comparable=comparable)

    @abstractmethod
    def render_list_key(self, term: Term) -> str:
        """Render SQL that is equal for equivalent lists; a trap where that cannot be said."""

    # --- tests ----------------------------------------------------------------------------------

    def render_forced(self, test: str, *terms: Term) -> str:
        """Render `test` such that every one of the terms that may fail is computed in any case."""
        failing = [f"({term.value} IS NULL)" for term in terms if may_fail(term)]
        if not failing:
            return test
        if sum(map(len, (test, *failing))) > 2 * self.largest_operand:
            raise CannotRun("So large a test of computed values.")
        return f"CASE WHEN {self.render_computed(failing)} THEN {test} END"

    @abstractmethod
    def render_computed(self, tests: Sequence[str]) -> str:
        """Render a test that is always true and computes all of `tests`, none of which is null."""

    @abstractmethod
    def render_equal_nested(self, left: Term, right: Term, *, wanted: bool) -> str:
        """Render whether two lists or maps are equal in three-valued logic: true when that is
        `wanted`.
        """

    @abstractmethod
    def render_mixed_test(
        self, left: Term, operator: str, right: Term, shared: Sequence[int]
    ) -> str:
        """Render `left < right` and its like, true only for values of one of the classes
        `shared`.
        """

    @abstractmethod
    def render_string_test(
        self, left: Term, operator: str, right: Term, bindings: Bindings, *, wanted: bool
    ) -> str:
        """Render `STARTS WITH`, `ENDS WITH` or `CONTAINS` for two terms that are strings."""

    @abstractmethod
    def compile_in_list(
        self, item: Term, members: Term, bindings: Bindings, *, wanted: bool
    ) -> str:
        """Compile `item IN members`, where `members` is no literal of known items."""

    def mark_paths(
        self, conditions: Sequence[str], ranges: MutableMapping[str, tuple[str, str]]
    ) -> Sequence[str]:
        """Return the conditions of one SELECT or join as the engine should read them.

        An engine that does not find the best index by itself may change them here without changing
        their meaning. What it notes in `ranges` stays with the statement.
        """
        return conditions

    def arrange(
        self, sources: Sequence[str], conditions: Sequence[str], joins: MutableMapping[str, Joins]
    ) -> tuple[Sequence[str], Sequence[str]]:
        """Return the tables and conditions of one SELECT as the engine should read them.

        An engine that does not choose the best order of the joins may do so here, without changing
        their meaning. What it notes in `joins` stays with the statement.
        """
        return sources, conditions

    # --- orders and aggregates ------------------------------------------------------------------

    def render_rank(self, term: Term) -> str:
        """Render the rank of a value's type in Cypher's order: string, boolean, number, null."""
        trap = self.render_trap("an order of lists or maps", k.INTEGER)
        return (
            f"CASE {term.tag} WHEN 'text' THEN 5 WHEN 'true' THEN 6 WHEN 'false' THEN 6"
            f" WHEN 'integer' THEN 7 WHEN 'real' THEN 7"
            f" WHEN 'array' THEN {trap} WHEN 'object' THEN {trap} ELSE 9 END"
        )

    @abstractmethod
    def list_sort_keys(self, term: Term) -> Sequence[str]:
        """Render keys that order values of one rank."""

    @abstractmethod
    def build_sum(self, term: Term, carry: Carry, *, distinct: bool) -> Term:
        """The aggregate `sum` of numbers; 0 of none."""

    @abstractmethod
    def build_average(self, term: Term, carry: Carry, *, distinct: bool) -> Term:
        """The aggregate `avg` of numbers."""

    @abstractmethod
    def build_extreme(self, term: Term, kind: AggregateKind, carry: Carry) -> Term:
        """The aggregates `min` and `max` of scalars.

        SPEC: openCypher 9: values of several types are compared by the total order, numbers above
        strings.
        """

    # --- texts and sets of row ids --------------------------------------------------------------

    def render_used(self, rows: Sequence[str], used: str | None) -> str:
        """Render what a walk notes of the relationships that it used: these row ids, beside those
        that `used` has already.
        """
        return (used or "','") + "".join(f" || {row} || ','" for row in rows)

    def render_unused(self, row: str, used: str) -> str:
        """Render whether a row id is not one of the noted ones."""
        position = self.render_position(used, f"',' || {row} || ','")
        return f"{position} = 0"

    def render_row_list(self, text: str) -> str:
        """Render the list of the row ids in a text such as `[1,2]`."""
        return text

    @abstractmethod
    def render_position(self, text: str, part: str) -> str:
        """Render the position of `part` in `text`, from 1; 0 where it is not."""

    @abstractmethod
    def render_version(self, version: str) -> tuple[str, str]:
        """Render the two numbers of a model's version, such as `2` or `2.13`."""

    empty_set: ClassVar[str]
    """A set of no row ids."""

    @abstractmethod
    def render_set(self, row: str) -> str:
        """Render the set of one row id."""

    @abstractmethod
    def render_elements(self, row_ids: str) -> str:
        """Render the table of a set's row ids, with the column `value`."""

    @abstractmethod
    def render_collected(self, column: str) -> str:
        """Render the aggregate that makes a set of row ids; the empty set of no rows."""

    @abstractmethod
    def render_union(self, left: str, right: str) -> str:
        """Render the union of two sets, which have no row id in common; the right one has some."""
