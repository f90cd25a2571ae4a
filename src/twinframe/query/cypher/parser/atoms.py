"""Parses the innermost parts of Cypher expressions: literals, names, calls, lists, maps, CASE.

`expressions` parses operators; subclasses parse patterns and clauses.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import reduce
from typing import TYPE_CHECKING

from twinframe.model.paths import build_path
from twinframe.query.algebra import QuantifierKind, SubplanKind
from twinframe.query.cypher import ast
from twinframe.query.cypher.functions import FUNCTIONS_BY_NAME, OF_PROPERTIES
from twinframe.query.cypher.parser.labels import LabelParser, is_label_start
from twinframe.query.cypher.tokens import NAMES, RESERVED, TokenKind

if TYPE_CHECKING:
    pass

_CONSTANTS: dict[str, bool | None] = {"TRUE": True, "FALSE": False, "NULL": None}
_QUANTIFIERS = {kind.name: kind for kind in QuantifierKind}
_SUBQUERIES = {kind.name: kind for kind in SubplanKind}
_CALL_LIKE = {"COUNT", "EXISTS", "FILTER", "EXTRACT", "REDUCE", *_QUANTIFIERS, *RESERVED}
_CALL_LIKE |= {"SHORTESTPATH", "ALLSHORTESTPATHS"}
_SHORTEST = frozenset({"SHORTESTPATH", "ALLSHORTESTPATHS"})
_LARGEST = (1 << 63) - 1
_SIZE = "size"
_PROJECTED = "an entry of a map projection: .key, .*, key: value, or a variable"


class AtomParser(LabelParser, ABC):
    """Parses one operand with its property accesses, subscripts and label tests."""

    bar_ends = False
    """Whether `|` ends the expression, as directly within a list comprehension."""

    @abstractmethod
    def parse_expression(self) -> ast.Expression:
        """Parse the longest expression."""

    @abstractmethod
    def is_pattern_start(self, ahead: int = 0) -> bool:
        """Return whether the `(` this far ahead opens a pattern rather than an expression."""

    @abstractmethod
    def parse_pattern_expression(self) -> ast.PatternExpression:
        """Parse a pattern as the list of its paths."""

    @abstractmethod
    def parse_pattern_comprehension(self) -> ast.Expression:
        """`[pattern WHERE ... | ...]`."""

    @abstractmethod
    def parse_shortest_expression(self) -> ast.Expression:
        """`shortestPath(...)` as a value."""

    @abstractmethod
    def parse_subquery(self, kind: SubplanKind) -> ast.Expression:
        """`{...}` after EXISTS, COUNT or COLLECT."""

    # --- what may follow an operand

    def parse_postfix(self) -> ast.Expression:
        """Parse an atom and everything that binds tighter than any operator."""
        start = self.token.start
        found = self._parse_atom()
        while True:
            key = self.token.key
            if key not in {".", "[", ":", "{"}:
                return found
            height = self.height
            if key == "{":
                found = self._parse_map_projection(found, start)
            elif key == ".":
                found = self._parse_property(found, start)
            elif key == "[":
                found = self._parse_subscript(found, start)
            elif is_label_start(self):
                labels = self.parse_labels(bar=not self.bar_ends)
                found = ast.HasLabels(found, labels, self.span_from(start))
            else:
                return found
            self.raise_height(max(height, self.height) + 1)

    def _parse_property(self, subject: ast.Expression, start: int) -> ast.Expression:
        self.expect(".")
        key = self.parse_property_key()
        if self.token.key == "(" and (name := _dotted_name(subject)) is not None:
            return self._parse_call(f"{name}.{key}", start)
        return ast.Property(subject, key, self.span_from(start))

    def parse_property_key(self) -> str:
        """Parse a property's name: any word, a quoted name, or a system member such as `$dtId`."""
        if self.token.kind is TokenKind.PARAMETER:
            return f"${self.advance().name}"
        return self.expect_word("the name of a property").name

    def _parse_subscript(self, subject: ast.Expression, start: int) -> ast.Expression:
        self.expect("[")
        outside = self.open_bracket()
        self.height = 0
        first = None if self.token.key == ".." else self.parse_expression()
        height = self.height
        if first is not None and self.token.key != "..":
            self.expect("]", "to close the subscript")
            self.bar_ends = outside
            return ast.Subscript(subject, first, self.span_from(start))
        self.expect("..")
        last = None if self.token.key == "]" else self.parse_expression()
        self.height = max(height, self.height)
        self.expect("]", "to close the slice")
        self.bar_ends = outside
        return ast.Slice(subject, first, last, self.span_from(start))

    # --- operands

    def _parse_atom(self) -> ast.Expression:
        token = self.token
        self.height = 1
        match token.kind:
            case TokenKind.NAME:
                return self._parse_word()
            case TokenKind.SYMBOL:
                return self._parse_bracketed()
            case TokenKind.PARAMETER:
                self.advance()
                return ast.Parameter(token.name, token.span)
            case TokenKind.QUOTED:
                return self._parse_variable()
            case TokenKind.STRING:
                self.advance()
                return ast.Literal(token.name, token.span)
            case TokenKind.INTEGER | TokenKind.FLOAT | TokenKind.BAD_NUMBER:
                return self._parse_number()
            case TokenKind.END:
                raise self.unexpected("an expression")

    def _parse_number(self) -> ast.Expression:
        token = self.token
        if token.kind is TokenKind.BAD_NUMBER:
            raise self.error(
                "InvalidNumberLiteral",
                f"{token.value} is neither a number nor a name; write 12, 0x1F, 0o17, 1.5 or 1e9",
            )
        value = token.value
        assert not isinstance(value, str)  # noqa: S101 -- by its kind
        if isinstance(value, int) and value > _LARGEST:
            raise self.error(
                "IntegerOverflow",
                "the integer does not fit into 64 bits; with a fraction or an exponent, such as "
                "1e19, it is a float",
            )
        if isinstance(value, float) and value == float("inf"):
            raise self.error("FloatingPointOverflow", "the number does not fit into 64 bits")
        self.advance()
        return ast.Literal(value, token.span)

    def _parse_bracketed(self) -> ast.Expression:
        key = self.token.key
        if key == "(":
            if self.is_pattern_start():
                return self.parse_pattern_expression()
            return self._parse_parenthesised()
        if key == "[":
            return self._parse_list()
        if key == "{":
            start = self.token.start
            entries = self.parse_map_entries()
            return ast.MapLiteral(entries, self.span_from(start))
        raise self.unexpected("an expression")

    def _parse_parenthesised(self) -> ast.Expression:
        self.expect("(")
        outside = self.open_bracket()
        found = self.parse_expression()
        self.bar_ends = outside
        self.expect(")", "to close the parenthesis")
        return found

    def _parse_word(self) -> ast.Expression:
        token = self.token
        key = token.key
        if key in _CONSTANTS:
            self.advance()
            return ast.Literal(_CONSTANTS[key], token.span)
        if key == "CASE":
            return self._parse_case()
        following = self.peek().key
        if following == "(":
            if key in _CALL_LIKE:
                return self._parse_word_call(key)
            self.advance()
            return self._parse_call(token.name, token.start)
        if following == "{" and key in _SUBQUERIES and self.peek(2).key != ".":
            self.advance()
            return self.parse_subquery(_SUBQUERIES[key])
        if key == "NOT":
            raise self.error(
                "UnexpectedSyntax", "NOT binds weaker than this operator; put it in parentheses"
            )
        return self._parse_variable()

    def _parse_variable(self) -> ast.Expression:
        token = self.token
        if token.kind is TokenKind.NAME and token.key in RESERVED:
            raise self.unexpected("an expression")
        self.advance()
        return ast.Variable(token.name, token.span)

    # --- what looks like a call

    def _parse_word_call(self, key: str) -> ast.Expression:
        token = self.token
        if key == "COUNT" and self.at("COUNT", "(", "*"):
            self.accept("COUNT", "(", "*")
            self.expect(")")
            return ast.CountRows(self.span_from(token.start))
        if key in _QUANTIFIERS and self._binds_variable():
            return self._parse_quantifier(_QUANTIFIERS[key])
        if key in {"FILTER", "EXTRACT"} and self._binds_variable():
            self.advance()
            self.expect("(")
            outside = self.open_binding()
            comprehension = self._parse_list_comprehension(token.start)
            self.close_binding(outside)
            self.expect(")")
            return comprehension
        if key == "REDUCE":
            return self._parse_reduce()
        if key in _SHORTEST and self.peek(2).key == "(":
            return self.parse_shortest_expression()
        if key == "EXISTS" and self.is_pattern_start(2):
            self.advance()
            self.expect("(")
            found = self.parse_pattern_expression()
            found.kind = SubplanKind.EXISTS
            self.expect(")")
            return found
        if key in RESERVED:
            raise self.unexpected("an expression")
        self.advance()
        return self._parse_call(token.name, token.start)

    def _binds_variable(self) -> bool:
        return self.peek(2).kind in NAMES and self.peek(3).key == "IN"

    def _parse_call(self, name: str, start: int) -> ast.Expression:
        self.expect("(")
        outside = self.open_bracket()
        self.height = 0
        distinct = self.accept("DISTINCT")
        arguments = [] if self.token.key == ")" else self._parse_expressions()
        self.expect(")", f"to close the call of {name}")
        self.bar_ends = outside
        self.raise_height(self.height + 1)
        lowered = name.lower()
        match arguments:
            case [ast.PatternExpression(kind=SubplanKind.COLLECT) as pattern] if (
                lowered == _SIZE and not distinct
            ):
                pattern.kind, pattern.span = SubplanKind.COUNT, self.span_from(start)
                return pattern
            case _:
                pass
        known = FUNCTIONS_BY_NAME.get(lowered)
        aggregate = known.aggregate if known is not None else None
        if known is not None and known.name in OF_PROPERTIES and arguments:
            arguments[0] = _build_reference(arguments[0])
        return ast.Call(lowered, arguments, distinct, aggregate, self.span_from(start))

    def _parse_expressions(self) -> list[ast.Expression]:
        found = [self.parse_expression()]
        height = self.height
        while self.accept(","):
            found.append(self.parse_expression())
            height = max(height, self.height)
        self.height = height
        return found

    def _parse_quantifier(self, kind: QuantifierKind) -> ast.Expression:
        start = self.advance().start
        self.expect("(")
        outside = self.open_binding()
        variable, source, predicate = self._parse_filter()
        self.close_binding(outside)
        self.expect(")", f"to close {kind.value}")
        if predicate is None:
            raise self.error(
                "UnexpectedSyntax",
                f"{kind.value}() needs WHERE and a condition",
                self.span_from(start),
            )
        self.raise_height(self.height + 1)
        return ast.Quantifier(kind, variable, source, predicate, self.span_from(start))

    def _parse_filter(self) -> tuple[str, ast.Expression, ast.Expression | None]:
        """`variable IN source [WHERE predicate]`."""
        variable = self.expect_name("a variable").name
        self.expect("IN")
        source = self.parse_expression()
        height = self.height
        predicate = self.parse_predicate() if self.accept("WHERE") else None
        self.height = max(height, self.height)
        return variable, source, predicate

    def parse_predicate(self) -> ast.Expression:
        """Parse a condition: a pattern is a truth value there."""
        return build_condition(self.parse_expression())

    def _parse_reduce(self) -> ast.Expression:
        start = self.advance().start
        self.expect("(")
        outside = self.open_binding()
        accumulator = self.expect_name("the accumulator of reduce").name
        self.expect("=", "and the accumulator's first value")
        initial = self.parse_expression()
        height = self.height
        self.expect(",")
        variable = self.expect_name("a variable").name
        self.expect("IN")
        self.bar_ends = True
        source = self.parse_expression()
        self.bar_ends = False
        height = max(height, self.height)
        self.expect("|", "and the step of reduce")
        step = self.parse_expression()
        self.close_binding(outside)
        self.expect(")")
        self.raise_height(max(height, self.height) + 1)
        span = self.span_from(start)
        return ast.Reduce(accumulator, initial, variable, source, step, span)

    # --- lists, maps, CASE

    def _parse_list(self) -> ast.Expression:
        start = self.token.start
        following = self.peek()
        # NOTE: `[(a)-->(b), c]` is a list of two items.
        separated = self.find_separator() if following.key == "(" else ""
        if separated in {"WHERE", "|"} and self.is_pattern_start(1):
            return self.parse_pattern_comprehension()
        named = following.kind in NAMES
        if named and self.peek(2).key == "=" and self.is_pattern_start(3):
            return self.parse_pattern_comprehension()
        binds = named and self.peek(2).key == "IN" and following.key not in RESERVED
        # NOTE: `[a IN b, c]` is a list of two items.
        binds = binds and self.find_separator() != ","
        self.expect("[")
        if binds:
            outside = self.open_binding()
            found = self._parse_list_comprehension(start)
            self.close_binding(outside)
            self.expect("]", "to close the list")
            found.span = self.span_from(start)
            return found
        outside = self.open_bracket()
        self.height = 0
        items = [] if self.token.key == "]" else self._parse_expressions()
        self.expect("]", "to close the list")
        self.bar_ends = outside
        self.raise_height(self.height + 1)
        return ast.ListLiteral(items, self.span_from(start))

    def _parse_list_comprehension(self, start: int) -> ast.ListComprehension:
        before, self.bar_ends = self.bar_ends, True
        variable, source, predicate = self._parse_filter()
        self.bar_ends = before
        height = self.height
        projection = self.parse_expression() if self.accept("|") else None
        self.raise_height(max(height, self.height) + 1)
        span = self.span_from(start)
        return ast.ListComprehension(variable, source, predicate, projection, span)

    def parse_map_entries(self) -> list[tuple[str, ast.Expression]]:
        """`{key: value, ...}`."""
        self.expect("{")
        entries: list[tuple[str, ast.Expression]] = []
        height = 0
        outside = self.open_bracket()
        while self.token.key != "}":
            key = self.parse_property_key()
            self.expect(":", "between key and value")
            entries.append((key, self.parse_expression()))
            height = max(height, self.height)
            if not self.accept(","):
                break
            if self.token.key == "}":
                raise self.unexpected("a key")
        self.expect("}", "to close the map")
        self.bar_ends = outside
        self.raise_height(height + 1)
        return entries

    def _parse_map_projection(self, subject: ast.Expression, start: int) -> ast.Expression:
        if not isinstance(subject, ast.Variable):
            raise self.error(
                "UnexpectedSyntax",
                "a map projection begins with a variable: WITH ... AS x RETURN x {.key}",
            )
        self.expect("{")
        outside = self.open_bracket()
        entries: list[tuple[str, ast.Expression]] = []
        every = False
        height = 1
        while self.token.key != "}":
            if self.accept(".", "*"):
                every = True
            else:
                entries.append(self._parse_projected(subject))
                height = max(height, self.height)
            if not self.accept(","):
                break
            if self.token.key == "}":
                raise self.unexpected(_PROJECTED)
        self.expect("}", "to close the map projection")
        self.bar_ends = outside
        self.raise_height(height + 1)
        return ast.MapProjection(subject, entries, every, self.span_from(start))

    def _parse_projected(self, subject: ast.Variable) -> tuple[str, ast.Expression]:
        """Parse an entry of a map projection: `.key`, `key: value` or a variable."""
        token = self.token
        self.height = 2
        if self.accept("."):
            key = self.parse_property_key()
            return key, ast.Property(subject, key, self.span_from(token.start))
        if token.kind is TokenKind.PARAMETER or self.peek().key == ":":
            key = self.parse_property_key()
            self.expect(":", "between key and value")
            return key, self.parse_expression()
        name = self.expect_name(_PROJECTED).name
        return name, ast.Variable(name, token.span)

    def _parse_case(self) -> ast.Expression:
        start = self.advance().start
        height = 0
        outside = self.open_binding()
        operand = None if self.token.key == "WHEN" else self.parse_predicate()
        height = max(height, self.height)
        branches: list[tuple[ast.Expression, ast.Expression]] = []
        while self.accept("WHEN"):
            condition = self.parse_predicate()
            height = max(height, self.height)
            self.expect("THEN")
            branches.append((condition, self.parse_expression()))
            height = max(height, self.height)
        if not branches:
            raise self.unexpected("WHEN")
        default = self.parse_expression() if self.accept("ELSE") else None
        self.expect("END", "to close CASE")
        self.close_binding(outside)
        self.raise_height(max(height, self.height) + 1)
        return ast.Case(operand, branches, default, self.span_from(start))

    def open_binding(self) -> bool:
        """Open a bracket as `open_bracket`, for constructs that count as two levels of nesting."""
        self.enter()
        return self.open_bracket()

    def close_binding(self, outside: bool) -> None:
        """End what `open_binding` began."""
        self.leave()
        self.bar_ends = outside

    def open_bracket(self) -> bool:
        """Open a bracket, within which a `|` belongs to the inside; return what `bar_ends` was
        outside.
        """
        outside, self.bar_ends = self.bar_ends, False
        return outside


def build_condition(node: ast.Expression) -> ast.Expression:
    """Return the expression with each pattern that decides it as a truth value."""
    if isinstance(node, ast.PatternExpression) and node.kind is SubplanKind.COLLECT:
        node.kind = SubplanKind.EXISTS
    elif isinstance(node, ast.Case):
        for _, result in node.branches:
            build_condition(result)
        if node.default is not None:
            build_condition(node.default)
    return node


def _dotted_name(subject: ast.Expression) -> str | None:
    """Return `a.b.c` as text when it consists of names only: the namespace of a function."""
    names: list[str] = []
    while isinstance(subject, ast.Property):
        names.append(subject.key)
        subject = subject.subject
    if not isinstance(subject, ast.Variable):
        return None
    return ".".join([subject.name, *reversed(names)])


def _build_reference(node: ast.Expression) -> ast.Expression:
    """Return a list of the owner of a property and its path; another expression as it is."""
    names: list[str] = []
    owner = node
    while True:
        match owner:
            case ast.Property(subject=subject, key=key):
                names.append(key)
            case ast.Subscript(subject=subject, index=ast.Literal(value=str(key))):
                names.append(key)
            case _:
                break
        owner = subject
    if not names:
        return node
    path = reduce(build_path, reversed(names), "")
    return ast.ListLiteral([owner, ast.Literal(path, node.span)], node.span)
