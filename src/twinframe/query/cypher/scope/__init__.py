"""Checks a Cypher syntax tree for all errors that depend on names, types or the position of an
aggregate.

The findings that `builder` needs are stored in the tree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinframe.query.cypher.scope.clauses import ClauseChecker
from twinframe.query.writing.procedures import NO_PROCEDURES, Procedures

if TYPE_CHECKING:
    from collections.abc import Collection

    from twinframe.query.cypher import ast
    from twinframe.query.errors import Source
    from twinframe.query.writing.port import Effect


def check_statement(
    source: Source,
    query: ast.Query,
    parameters: Collection[str],
    procedures: Procedures,
    *,
    map_properties: bool,
) -> frozenset[Effect]:
    """Check a statement that may write; return what it may do to the graph. See `check_query`."""
    checker = ClauseChecker(source, parameters, procedures, map_properties=map_properties)
    checker.check_query(query)
    return frozenset(checker.effects)


def check_query(
    source: Source,
    query: ast.Query,
    parameters: Collection[str],
    procedures: Procedures = NO_PROCEDURES,
) -> tuple[str, ...]:
    """Check the whole query and store the findings in its tree.

    `parameters` are the names supplied with the request. Returns the names that the query uses.
    Raises QueryInvalid with the kind and detail of the openCypher Technology Compatibility Kit.
    """
    checker = ClauseChecker(source, parameters, procedures)
    checker.check_query(query)
    return tuple(checker.used_parameters)
