"""What a dialect compiles over a SELECT besides: lists, maps, functions, and better ways to group.

The base class declines all of it, so that the evaluator runs such plans.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NoReturn, Protocol, TypeAlias

from twinframe.query.algebra import (
    AggregateCall,
    AggregateKind,
    Expression,
    FunctionCall,
    ListComprehension,
    Quantifier,
    Reduce,
)
from twinframe.query.engine import CannotRun
from twinframe.query.sql import kinds as k
from twinframe.query.sql.bindings import Bindings
from twinframe.query.sql.columns import Column, build_value_column
from twinframe.query.sql.dialect import Carry, Dialect
from twinframe.query.sql.grouping import Groups, PlainGroups
from twinframe.query.sql.select import Select
from twinframe.query.sql.term import Term


class Compiler(Protocol):
    """A compiler of expressions over the scope of one SELECT."""

    def compile_term(self, expression: Expression) -> Term:
        """The value of an expression."""
        ...

    def compile_test(self, expression: Expression, *, wanted: bool) -> str:
        """SQL that is 1 exactly when the expression is `wanted`."""
        ...

    def compile_truth_value(self, expression: Expression) -> str:
        """0, 1 or NULL of an expression that must be a boolean or null."""
        ...


Compilers: TypeAlias = Callable[[Select], Compiler]


class Extensions:
    """The operations that a dialect has besides. Immutable."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect

    # --- rows -----------------------------------------------------------------------------------

    def compile_kept_count(
        self, select: Select, keys: Iterable[Term], calls: Sequence[AggregateCall]
    ) -> Term | None:
        """Return the number of rows in a group if it can be had without these rows.

        It may change `select` then.
        """
        return None

    def open_groups(
        self, select: Select, keys: Iterable[Term], calls: Sequence[AggregateCall]
    ) -> Groups:
        """Return the rows of an open SELECT, ready to be grouped."""
        return PlainGroups(select)

    def join_list(self, term: Term, select: Select) -> Term:
        """Join the elements of a list to `select`; return the element of each row. Another value
        than a list is one row.
        """
        decline("The operator Unwind")

    def compile_collected(self, term: Term, select: Select) -> Term:
        """The list of the values that `term` has in the rows of `select`, in a subquery."""
        decline("A pattern comprehension")

    def compile_collect(
        self, term: Term, order_by: Sequence[str], carry: Carry, *, distinct: bool
    ) -> Term:
        """The aggregate `collect`; `order_by` is the order of the rows."""
        decline("The aggregate collect()")

    def compile_deviation(
        self, term: Term, kind: AggregateKind, carry: Carry, *, distinct: bool
    ) -> Term:
        """The aggregates `stDev` and `stDevP`."""
        decline(f"The aggregate {kind.value}()")

    def compile_percentile(
        self, term: Term, fraction: str, kind: AggregateKind, carry: Carry, *, distinct: bool
    ) -> Term:
        """The aggregates `percentileCont` and `percentileDisc`; `fraction` is a placeholder."""
        decline(f"The aggregate {kind.value}()")

    def render_time_order(
        self, call: FunctionCall, subject: Term, bindings: Bindings, *, descending: bool
    ) -> list[str]:
        """Render the sort keys for a call of `STORED_TIME`."""
        decline("An order of stored times")

    def build_column(self, term: Term) -> Column:
        """Build the result column of a term."""
        holds = term.kinds & k.LIST and term.elements & k.ENTITIES
        if term.kinds & k.PATH or holds or term.holds_entities:
            decline("A column of paths, or of lists or maps of nodes or relationships")
        return build_value_column(term, self.dialect)

    # --- numbers and functions ------------------------------------------------------------------

    def compile_arithmetic(self, left: Term, operator: str, right: Term) -> Term:
        """`left + right` and the same for `- * / % ^`."""
        decline(f"The operator {operator}")

    def compile_minus(self, operand: Term) -> Term:
        """`-operand`."""
        decline("The operator -")

    def compile_call(self, name: str, arguments: Sequence[Term]) -> Term:
        """A function that is no test, and none of entities."""
        decline(f"The function {name}()")

    def render_length(self, path: str) -> str:
        """Render the number of relationships of a path, which is a list of row ids."""
        decline("length() of a path")

    # --- lists and maps -------------------------------------------------------------------------

    def build_list(self, items: tuple[Term, ...]) -> Term:
        """A list literal: its items stay known."""
        decline("A list of computed values")

    def build_map(self, entries: tuple[tuple[str, Term], ...]) -> Term:
        """A map literal: its entries stay known."""
        decline("A map")

    def compile_projection(self, subject: Term, entries: Term, own: Term | None) -> Term:
        """`subject {entries}`: the `entries`, in place of those of `own`; null where `subject`
        is.
        """
        decline("A map projection")

    def compile_named_member(self, subject: Term, name: Term, bindings: Bindings) -> Term:
        """`subject[name]` for a bound name."""
        decline("A member by a computed name")

    def compile_element(self, subject: Term, position: Term, select: Select) -> Term:
        """`subject[position]` of a list."""
        decline("A subscript")

    def compile_slice(self, subject: Term, start: Term | None, end: Term | None) -> Term:
        """`subject[start..end]`."""
        decline("A slice")

    def compile_elements(
        self,
        expression: ListComprehension | Quantifier | Reduce,
        source: Term,
        initial: Term | None,
        outer: Select,
        compilers: Compilers,
    ) -> Term:
        """A comprehension, a quantifier, or `reduce`, which has an `initial` accumulator."""
        decline("An expression over the elements of a list")

    def compile_some(
        self, expression: Quantifier, source: Term, outer: Select, compilers: Compilers
    ) -> str:
        """`any(...)` as SQL that is 1 exactly when it is true."""
        decline(f"The function {expression.kind.value}()")


def decline(what: str) -> NoReturn:
    """Raise `CannotRun` for an operation that the dialect does not have."""
    raise CannotRun(f"{what}.")
