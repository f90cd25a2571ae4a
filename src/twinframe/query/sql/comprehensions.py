"""Compiles expressions over the elements of a list: list comprehensions, quantifiers and `reduce`.

Each becomes a subquery over the elements, whose row binds the variable.
"""

# ruff: noqa: S608  (the text is made of constants, aliases and placeholders)

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from twinframe.query.algebra import (
    ListComprehension,
    Quantifier,
    QuantifierKind,
    Reduce,
    Variable,
)
from twinframe.query.engine import CannotRun
from twinframe.query.sql import kinds as k
from twinframe.query.sql.extensions import Compiler, Compilers, Extensions
from twinframe.query.sql.lets import Let
from twinframe.query.sql.select import Select, build_column
from twinframe.query.sql.term import NULL_TERM, Term, check_path

LONGEST_LIST: Final = 1_000
"""The number of elements above which the evaluator runs a `reduce()`.

PERF: engines search for each element from the first: in SQLite 3,000 take 0.8 s, in the evaluator
5 ms.
"""
_ROUNDS: Final = 4


class ElementExtensions(Extensions):
    """Extensions of an engine that can join the elements of a list, and aggregate rows to one."""

    @abstractmethod
    def read_list(self, term: Term, reason: str) -> str:
        """Render a term that must be a list or null; a trap otherwise."""

    @abstractmethod
    def join_elements(self, text: str, kinds: int, select: Select) -> tuple[Term, str]:
        """Join the list `text` to `select`; return the element of each row and its position as SQL,
        from 0.

        `kinds` are the kinds that the elements can have.
        """

    @abstractmethod
    def render_group(self, term: Term, position: str) -> str:
        """Render the aggregate that makes a list of the term's values, in the order of
        `position`.
        """

    @abstractmethod
    def render_size(self, items: str) -> str:
        """Render the number of elements of a list."""

    @abstractmethod
    def build_let(self, *texts: str) -> Let:
        """Name expressions that are used several times."""

    def compile_elements(
        self,
        expression: ListComprehension | Quantifier | Reduce,
        source: Term,
        initial: Term | None,
        outer: Select,
        compilers: Compilers,
    ) -> Term:
        """A comprehension, a quantifier, or `reduce`, which has an `initial` accumulator."""
        match expression:
            case ListComprehension():
                return self._compile_comprehension(expression, source, outer, compilers)
            case Quantifier():
                return self._compile_quantifier(expression, source, outer, compilers)
            case Reduce():
                accumulator = initial or NULL_TERM
                return self._compile_reduce(expression, source, accumulator, outer, compilers)

    def _compile_comprehension(
        self, expression: ListComprehension, source: Term, outer: Select, compilers: Compilers
    ) -> Term:
        """`[variable IN source WHERE predicate | projection]`."""
        let = self.build_let(self.read_list(source, "a list comprehension"))
        inner = Select(outer.statement, outer.scope)
        element, position = self.join_elements(let.names[0], source.elements, inner)
        inner.scope[expression.variable] = element
        compiler = compilers(inner)
        if expression.predicate is not None:
            inner.add_condition(compiler.compile_test(expression.predicate, wanted=True))
        item = compiler.compile_term(expression.projection or Variable(expression.variable))
        elements = find_element_kinds([item], "A list comprehension")
        text = f"({inner.render([self.render_group(item, position)])})"
        if source.kinds != k.LIST:
            text = f"CASE WHEN {let.names[0]} IS NOT NULL THEN {text} END"
        kinds = k.LIST | (0 if source.kinds == k.LIST else k.NULL)
        return Term(kinds, let.wrap(text), elements=elements, assumed=True)

    def _compile_quantifier(
        self, expression: Quantifier, source: Term, outer: Select, compilers: Compilers
    ) -> Term:
        """`all|any|none|single(variable IN source WHERE predicate)`."""
        let = self.build_let(self.read_list(source, f"{expression.kind.value}()"))
        inner, compiler = self._open_elements(expression, source, let.names[0], outer, compilers)
        truth = compiler.compile_truth_value(expression.predicate)
        decision = _render_decision(expression.kind, self.dialect.yes, self.dialect.no)
        # NOTE: a derived table, so that the aggregates are over the elements, not an outer row.
        text = f"(SELECT {decision} FROM ({inner.render([f'{truth} AS v'])}) AS p)"
        if source.kinds != k.LIST:
            text = f"CASE WHEN {let.names[0]} IS NOT NULL THEN {text} END"
        return Term(k.BOOLEAN | k.NULL, let.wrap(text), assumed=True)

    def compile_some(
        self, expression: Quantifier, source: Term, outer: Select, compilers: Compilers
    ) -> str:
        """Compile `any(...)` to SQL that is 1 exactly when it is true, up to the first element.

        PERF: elements after the first true one are not read, so their types are not checked.
        """
        text = self.read_list(source, f"{expression.kind.value}()")
        inner, compiler = self._open_elements(expression, source, text, outer, compilers)
        inner.add_condition(compiler.compile_test(expression.predicate, wanted=True))
        # NOTE: a condition that reads no element may keep an engine from reading the list.
        return self.dialect.render_forced(f"EXISTS ({inner.render(['1'])})", Term(k.LIST, text))

    def _open_elements(
        self, expression: Quantifier, source: Term, text: str, outer: Select, compilers: Compilers
    ) -> tuple[Select, Compiler]:
        inner = Select(outer.statement, outer.scope)
        inner.scope[expression.variable], _ = self.join_elements(text, source.elements, inner)
        return inner, compilers(inner)

    def _compile_reduce(
        self, expression: Reduce, source: Term, initial: Term, outer: Select, compilers: Compilers
    ) -> Term:
        """Compile `reduce(accumulator = initial, variable IN source | step)`.

        The kinds of the accumulator are those of `initial` and of every step: the step is compiled
        until it adds none.
        """
        if (initial.kinds | source.elements) & k.ENTITIES:
            raise CannotRun("reduce() over nodes or relationships.")
        let = self.build_let(self.read_list(source, "reduce()"))
        kinds, elements = initial.kinds, initial.elements if initial.kinds & k.LIST else 0
        for _ in range(_ROUNDS):
            table, text, result = self._compile_steps(
                expression,
                source,
                Term(kinds, "NULL", elements=elements),
                let.names[0],
                outer,
                compilers,
            )
            if elements | result.elements & k.ENTITIES and elements & k.ENTITIES:
                raise CannotRun("reduce() to a list of nodes or relationships.")
            more = result.kinds | kinds
            more_elements = elements | (result.elements if result.kinds & k.LIST else 0)
            if (more, more_elements) == (kinds, elements):
                break
            kinds, elements = more, more_elements
        else:
            raise CannotRun("reduce() to a value of so many types.")
        accumulated = Term(kinds, "NULL", elements=elements or k.JSON)
        start = self._render_carried(initial, kinds)
        trap_kinds = kinds if self.dialect.is_plain(kinds) else k.JSON
        trap = self.dialect.render_trap("reduce() over so long a list", trap_kinds)
        items = let.names[0]
        size = self.render_size(items)
        last = f"{table}.i = {size}"
        value = (
            f"(WITH RECURSIVE {table}(i, a) AS (SELECT 0, {start} UNION ALL {text})"
            f" SELECT {table}.a FROM {table} WHERE {last})"
        )
        value = (
            f"CASE WHEN {items} IS NULL THEN NULL"
            f" WHEN {size} > {LONGEST_LIST} THEN {trap} ELSE {value} END"
        )
        nullable = 0 if source.kinds == k.LIST else k.NULL
        term = replace(accumulated, kinds=kinds | nullable)
        return replace(build_column(term, let.wrap(value), outer), assumed=True)

    def _compile_steps(
        self,
        expression: Reduce,
        source: Term,
        accumulated: Term,
        items: str,
        outer: Select,
        compilers: Compilers,
    ) -> tuple[str, str, Term]:
        """Return the recursive table, its step as SQL, and the term of a step."""
        table = outer.statement.alias("a")
        inner = Select(outer.statement, outer.scope)
        inner.join(table)
        inner.is_driven = True
        element, position = self.join_elements(items, source.elements, inner)
        inner.add_condition(f"{position} = {table}.i")
        inner.scope[expression.variable] = element
        inner.scope[expression.accumulator] = build_column(accumulated, f"{table}.a", inner)
        result = compilers(inner).compile_term(expression.step)
        if result.kinds & k.ENTITIES or result.holds_entities:
            raise CannotRun("reduce() to a node or relationship.")
        kinds = accumulated.kinds | result.kinds
        carried = self._render_carried(result, kinds)
        return table, inner.render([f"{table}.i + 1", carried]), result

    def _render_carried(self, term: Term, kinds: int) -> str:
        plain = self.dialect.is_plain(kinds)
        return self.dialect.read_as_column(term, kinds) if plain else self.dialect.render_item(term)


_DECISIONS: Final = {
    QuantifierKind.ANY: "CASE WHEN {yes} > 0 THEN {true} WHEN {known} THEN {false} END",
    QuantifierKind.ALL: "CASE WHEN {no} > 0 THEN {false} WHEN {known} THEN {true} END",
    QuantifierKind.NONE: "CASE WHEN {yes} > 0 THEN {false} WHEN {known} THEN {true} END",
    QuantifierKind.SINGLE: "CASE WHEN {yes} > 1 THEN {false} WHEN {known} THEN {yes} = 1 END",
}


def _render_decision(kind: QuantifierKind, true: str, false: str) -> str:
    """Render the aggregate over the truth values `p.v`."""
    return _DECISIONS[kind].format(
        yes="count(*) FILTER (WHERE p.v)",
        no="count(*) FILTER (WHERE NOT p.v)",
        known="count(p.v) = count(*)",
        true=true,
        false=false,
    )


def find_element_kinds(terms: Sequence[Term], reason: str) -> int:
    """Return the kinds of the elements of a list of `terms`.

    Raises `CannotRun` for mixed or nested entities.
    """
    kinds = 0
    for term in terms:
        kinds |= term.kinds
        check_path(term)
        if (term.kinds & k.LIST and term.elements & k.ENTITIES) or term.holds_entities:
            raise CannotRun(f"{reason} of lists or maps of nodes or relationships.")
    if kinds & k.ENTITIES and kinds & ~k.NULL not in k.ONE_ENTITY:
        raise CannotRun(f"{reason} of nodes or relationships and other values.")
    return kinds or k.NULL
