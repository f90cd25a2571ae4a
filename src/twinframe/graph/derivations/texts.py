"""Builds the query of a derivation from its two texts, and refuses what it could not follow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from twinframe.errors import DerivationInvalid, LimitExceeded, QueryInvalid
from twinframe.graph.documents.derivations import Derivation
from twinframe.model.ids import MODEL_LABEL
from twinframe.query.algebra import (
    Aggregate,
    AggregateKind,
    Expression,
    FunctionCall,
    MapExpression,
    Match,
    Operator,
    Parameter,
    Query,
    Subplan,
)
from twinframe.query.cypher import ast
from twinframe.query.cypher.parser import parse_cypher
from twinframe.query.errors import Source
from twinframe.query.evaluate.constants import CHANGING, CLOCKS
from twinframe.query.evaluate.labels import find_label_names
from twinframe.query.language import parse_query
from twinframe.query.options import FrontEndOptions
from twinframe.query.traversal import walk, walk_inputs

THIS: Final = "this"
IDS: Final = "ids"
_NOW: Final = frozenset({"realtime", "statement", "transaction"})
_OF_ENDS: Final = frozenset({"endNode", "startNode"})
_MODEL_TYPES: Final = frozenset({"_extends", "_hasComponent"})
_OF_THE_PAST: Final = frozenset({"changes", "series", "valueAt"})


def build_text(derivation: Derivation, *, with_stored: bool = False) -> str:
    """Build the query of the values of the twins `$ids`: rows of `id` and `value`.

    `with_stored` adds the value that is stored, as `stored`.
    """
    # NOTE: each text ends with its line, so that a comment in it ends there too.
    match = f"OPTIONAL MATCH\n{derivation.match}\n" if derivation.match else ""
    stored = f", this.{_quote(derivation.property_name)} AS stored" if with_stored else ""
    return (
        f"MATCH (this:{_quote(derivation.model)}) WHERE this.`$dtId` IN $ids\n"
        f"{match}WITH this,\n{derivation.value}\nAS value RETURN this.`$dtId` AS id, value{stored}"
    )


def build_fill_text(derivation: Derivation, limit: int) -> str:
    """Build the query of the ids of the twins after the id `$after`, in their order."""
    return (
        f"MATCH (this:{_quote(derivation.model)}) WHERE this.`$dtId` > $after "
        f"RETURN this.`$dtId` AS id ORDER BY id LIMIT {limit}"
    )


def build_count_text(derivation: Derivation) -> str:
    """Build the query of the number of the twins, as `count`."""
    return f"MATCH (this:{_quote(derivation.model)}) RETURN count(*) AS count"


def parse_derivation(derivation: Derivation, options: FrontEndOptions) -> Query:
    """Parse the texts of a derivation together. Raises `DerivationInvalid`."""
    text = build_text(derivation)
    try:
        tree, _ = parse_cypher(Source(text), options)
        _check_form(tree, has_match=bool(derivation.match))
        query = parse_query(text, parameters=(IDS,), options=options).query
    except (QueryInvalid, LimitExceeded) as error:
        raise DerivationInvalid(
            f"match and value are no part of a query, which would be\n{text}\n{error.message}"
        ) from error
    _check_operators(query.root, has_match=bool(derivation.match))
    return query


def _quote(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _check_form(tree: ast.Query, *, has_match: bool) -> None:
    """Refuse texts that close the clause in which they stand, and go on with others."""
    clauses = tree.parts[0].clauses
    given = [type(clause) for clause in clauses]
    expected = [ast.Match, *([ast.Match] if has_match else []), ast.Projection, ast.Projection]
    projection = clauses[-2] if len(clauses) > 1 else None
    if (
        len(tree.parts) > 1
        or given != expected
        or not isinstance(projection, ast.Projection)
        or projection.final
        or projection.distinct
        or projection.star
        or len(projection.items) != 2
        or projection.order
        or any((projection.skip, projection.limit, projection.where))
    ):
        raise DerivationInvalid(
            "match is what stands behind MATCH, with its WHERE if it has one, such as "
            "(this)-[:contains]->(r:Room) WHERE r.temperature > 0; value is one expression, such "
            "as avg(r.temperature). Neither has further clauses."
        )


def _check_operators(root: Operator, *, has_match: bool) -> None:
    inputs = [*walk_inputs(root)]
    if has_match and not any(isinstance(one, Aggregate) for one in inputs):
        raise DerivationInvalid(
            "match may find several twins, so value must aggregate what it finds: avg, sum, min, "
            "max, count or another aggregate."
        )
    for one in inputs:
        if isinstance(one, Match):
            _check_match(one)
        elif isinstance(one, Aggregate) and has_match:
            _check_aggregates(one)
    parameters = 0
    for term in walk(root):
        match term:
            case Subplan():
                raise DerivationInvalid(
                    "A pattern within an expression cannot be followed: write it into match."
                )
            case FunctionCall():
                _check_call(term)
            case Parameter():
                parameters += 1
            case _:
                pass
    if parameters > 1:
        raise DerivationInvalid("A derivation has no parameters; write their values.")


def _check_aggregates(aggregate: Aggregate) -> None:
    kinds = {call.kind for _, call in aggregate.aggregates}
    if AggregateKind.COLLECT in kinds:
        raise DerivationInvalid(
            "collect() gives values in no particular order, so its list would change without a "
            "change of the graph; use count, min, max or another aggregate."
        )
    if AggregateKind.COUNT_ROWS in kinds:
        raise DerivationInvalid(
            "count(*) is 1 where match finds nothing; count a node of match instead, such as "
            "count(r)."
        )


def _check_match(match: Match) -> None:
    if match.pattern.paths:
        raise DerivationInvalid("Named paths and shortest paths cannot be followed.")
    named = frozenset[str]().union(*(find_label_names(node.labels) for node in match.pattern.nodes))
    types = {name for one in match.pattern.relationships for name in one.types}
    if MODEL_LABEL in named or types & _MODEL_TYPES:
        raise DerivationInvalid("A derivation reads twins and their relationships, not models.")


def _check_call(call: FunctionCall) -> None:
    if call.name in _OF_ENDS:
        raise DerivationInvalid(
            f"{call.name}() cannot be followed: name both ends of the relationship in match."
        )
    if call.name in _OF_THE_PAST:
        raise DerivationInvalid(
            f"{call.name}() reads the past; a derived property depends on present values alone."
        )
    if call.name in CHANGING or _reads_clock(call):
        raise DerivationInvalid(
            f"{call.name}() gives another value each time; a derived property changes with the "
            "graph alone."
        )


def _reads_clock(call: FunctionCall) -> bool:
    kind, _, part = call.name.partition(".")
    if kind not in CLOCKS:
        return False
    if part:
        return part in _NOW or (part == "truncate" and len(call.arguments) < 2)
    return not call.arguments or _is_zone(call.arguments[0])


def _is_zone(argument: Expression) -> bool:
    return isinstance(argument, MapExpression) and [key for key, _ in argument.entries] == [
        "timezone"
    ]


def find_matches(root: Operator) -> Iterator[Match]:
    """Yield the matches of the query of a derivation: that of `match`, then that of `this`."""
    return (one for one in walk_inputs(root) if isinstance(one, Match))
