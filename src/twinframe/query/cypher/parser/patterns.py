"""Parses patterns of Cypher: nodes, relationships, lengths, paths."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace

from twinframe.query.algebra import Direction, Length, PathKind, SubplanKind
from twinframe.query.cypher import ast
from twinframe.query.cypher.parser.expressions import ExpressionParser
from twinframe.query.cypher.tokens import NAMES, TokenKind
from twinframe.query.spans import Span

_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
SHORTEST = {"SHORTESTPATH": PathKind.SHORTEST, "ALLSHORTESTPATHS": PathKind.ALL_SHORTEST}
_LARGEST_BOUND = (1 << 31) - 1


class PatternParser(ExpressionParser):
    """Parses patterns in MATCH and in expressions."""

    takes_parameter = False
    """Whether a parameter may stand for all properties: in CREATE."""

    @abstractmethod
    def parse_subquery(self, kind: SubplanKind) -> ast.Expression:
        """`{...}` after EXISTS, COUNT or COLLECT."""

    # --- patterns within expressions

    def is_pattern_start(self, ahead: int = 0) -> bool:
        """Return whether the `(` this far ahead opens a node that is followed by a relationship.

        By the grammar `(a)-(b)` and `(a) - [1]` are arithmetic; as everywhere in Cypher, `(a)--`
        and `(a)-[` are parsed as patterns.
        """
        if self.peek(ahead).key != "(":
            return False
        inner = self.peek(ahead + 1)
        if inner.kind in NAMES:
            if self.peek(ahead + 2).key not in {")", ":", "{"}:
                return False
        elif inner.key not in {")", ":", "{"}:
            return False
        ahead += self._count_to_closing(ahead)
        if self.peek(ahead).key == "<":
            ahead += 1
        return self.peek(ahead).key == "-" and self.peek(ahead + 1).key in {"-", "["}

    def _count_to_closing(self, ahead: int) -> int:
        """Count the tokens of the brackets this far ahead, inclusive."""
        depth, count = 0, 0
        while True:
            token = self.peek(ahead + count)
            count += 1
            if token.key in _OPENING:
                depth += 1
            elif token.key in _CLOSING:
                depth -= 1
            if depth == 0 or token.kind is TokenKind.END:
                return count

    def parse_pattern_expression(self) -> ast.PatternExpression:
        """Parse a pattern as the list of its paths."""
        start = self.token.start
        part = self._parse_chain(None, PathKind.ALL)
        self.raise_height(self.height + 3)
        return ast.PatternExpression(part, SubplanKind.COLLECT, self.span_from(start))

    def parse_pattern_comprehension(self) -> ast.Expression:
        """`[pattern WHERE ... | ...]`."""
        start = self.token.start
        self.expect("[")
        self.enter()
        outside, self.bar_ends = self.bar_ends, True
        part = self.parse_pattern_part()
        height = self.height
        predicate = self.parse_predicate() if self.accept("WHERE") else None
        height = max(height, self.height)
        self.bar_ends = False
        self.expect("|", "and what to collect")
        projection = self.parse_expression()
        self.bar_ends = outside
        self.expect("]", "to close the pattern comprehension")
        self.leave()
        self.raise_height(max(height, self.height) + 3)
        return ast.PatternComprehension(part, predicate, projection, self.span_from(start))

    def parse_shortest_expression(self) -> ast.Expression:
        """`shortestPath(...)` as a value."""
        start = self.token.start
        part = self._parse_shortest(None)
        self.raise_height(self.height + 4)
        return ast.ShortestPath(part, self.span_from(start))

    # --- patterns

    def parse_pattern(self) -> list[ast.PatternPart]:
        """The comma-separated parts of a MATCH."""
        parts = [self.parse_pattern_part()]
        height = self.height
        count = len(parts[0].elements())
        while self.accept(","):
            parts.append(self.parse_pattern_part())
            height = max(height, self.height)
            count += len(parts[-1].elements())
            if count > self.options.max_elements and not self.takes_parameter:
                raise self.refuse_elements()
        self.height = height
        return parts

    def parse_pattern_part(self) -> ast.PatternPart:
        """`[name =] chain`, or a shortest path."""
        variable = None
        if self.token.kind in NAMES and self.peek().key == "=":
            variable = self.expect_name("the name of a path")
            self.expect("=")
        if self.token.key in SHORTEST and self.peek().key == "(":
            return self._parse_shortest(variable.name if variable else None)
        part = self._parse_chain(variable.name if variable else None, PathKind.ALL)
        if variable is not None:
            part.span = self.span_from(variable.start)
        return part

    def _parse_shortest(self, variable: str | None) -> ast.PatternPart:
        token = self.advance()
        self.expect("(")
        part = self._parse_chain(variable, SHORTEST[token.key])
        self.expect(")", f"to close {token.value}")
        if len(part.relationships) != 1:
            raise self.error(
                "InvalidRelationshipPattern",
                f"{token.value} takes a pattern with exactly one relationship",
                part.span,
            )
        return part

    def _parse_chain(self, variable: str | None, kind: PathKind) -> ast.PatternPart:
        start = self.token.start
        nodes = [self._parse_node()]
        height = self.height
        relationships: list[ast.RelationshipElement] = []
        while self.token.key in {"-", "<"}:
            if len(relationships) * 2 > self.options.max_elements:
                raise self.refuse_elements()
            relationships.append(self._parse_relationship())
            height = max(height, self.height)
            nodes.append(self._parse_node())
            height = max(height, self.height)
        self.height = height
        return ast.PatternPart(variable, kind, nodes, relationships, self.span_from(start))

    def _parse_node(self) -> ast.NodeElement:
        start = self.token.start
        self.height = 0
        self.expect("(", "to begin a node")
        variable = None
        if self.token.kind in NAMES:
            variable = self.expect_name("the variable of a node").name
        labels = self.parse_labels() if self.token.key == ":" else None
        braces = self.token.key == "{"
        given = self._take_parameter()
        properties = self._parse_properties()
        self.expect(")", "to close the node")
        is_plain = labels is None and given is None and not braces
        span = self.span_from(start)
        return ast.NodeElement(variable, labels, properties, span, given, is_plain)

    def _take_parameter(self) -> ast.Parameter | None:
        if not self.takes_parameter or self.token.kind is not TokenKind.PARAMETER:
            return None
        token = self.advance()
        return ast.Parameter(token.name, token.span)

    def _parse_properties(self) -> list[tuple[str, ast.Expression]]:
        if self.token.kind is TokenKind.PARAMETER:
            raise self.error(
                "InvalidParameterUse",
                "a parameter cannot stand for all properties of a pattern; name them: "
                f"{{key: ${self.token.value}.key}}",
            )
        return self.parse_map_entries() if self.token.key == "{" else []

    def _parse_relationship(self) -> ast.RelationshipElement:
        start = self.token.start
        self.height = 0
        incoming = self.accept("<")
        self.expect("-", "to begin a relationship")
        element = ast.RelationshipElement(None, None, Direction.BOTH, None, [], Span(start, start))
        if self.accept("["):
            self._parse_relationship_detail(element)
            self.expect("]", "to close the relationship")
        self.expect("-", "to end the relationship")
        outgoing = self.accept(">")
        if incoming != outgoing:
            element.direction = Direction.INCOMING if incoming else Direction.OUTGOING
        element.span = self.span_from(start)
        return element

    def _parse_relationship_detail(self, element: ast.RelationshipElement) -> None:
        if self.token.kind in NAMES:
            element.variable = self.expect_name("the variable of a relationship").name
        if self.token.key == ":":
            element.types = self.parse_labels()
        if self.token.key == "*":
            element.length = self._parse_length()
        elif self.token.key == ".." or self.token.kind is TokenKind.INTEGER:
            raise self.error(
                "InvalidRelationshipPattern", "a number of relationships begins with *: *1..3"
            )
        element.map = self._take_parameter()
        element.properties = self._parse_properties()

    def _parse_length(self) -> Length:
        """SPEC: openCypher 9, oC_RangeLiteral: `*`, `*n`, `*n..`, `*..m`, `*n..m`."""
        span = self.expect("*").span
        if self.token.key == "-":
            raise self.error(
                "InvalidRelationshipPattern", "the bounds of a length are not negative"
            )
        lower = self._parse_bound()
        if not self.accept(".."):
            length = Length(1, None) if lower is None else Length(lower, lower)
        else:
            upper = self._parse_bound()
            length = Length(1 if lower is None else lower, upper)
        if length.minimum > self.options.max_hops:
            raise self.error(
                "InvalidRelationshipPattern",
                f"at most {self.options.max_hops} relationships may be crossed (Query__MaxHops)",
                self.span_from(span.start),
            )
        if length.maximum is None or length.maximum > self.options.max_hops:
            return replace(length, limit=self.options.max_hops)
        return length

    def _parse_bound(self) -> int | None:
        if self.token.kind is not TokenKind.INTEGER:
            return None
        token = self.advance()
        value = token.value
        if not isinstance(value, int) or value > _LARGEST_BOUND:
            raise self.error("IntegerOverflow", "this length is beyond any limit", token.span)
        return value
