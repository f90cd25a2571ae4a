"""What the relational layer answers on PostgreSQL, the evaluator answers too."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import cast

import pytest

from twinframe.testing.query_contract import GeneratedQueries, QueryAnswers
from twinframe.testing.query_law import OpenGraph, QueryLaw

pytest.importorskip("psycopg", reason="no psycopg: it is in twinframe[dev]")

from tests.postgres.engine import PostgresQueryEngine
from tests.postgres.graphs import Graphs


@pytest.fixture(scope="session")
def query_law(postgres: str) -> Iterator[QueryLaw]:
    """The law of this engine."""
    graphs = Graphs(postgres)
    # NOTE: the sessions are for the engine alone; no test of these classes evaluates over them.
    law = QueryLaw(PostgresQueryEngine(), cast("OpenGraph", graphs.open))
    yield law
    law.close()
    graphs.close()


class TestPostgresQueryEngine(QueryAnswers, GeneratedQueries):
    """The dialect has no arithmetic, few functions, and of lists `IN` and `collect`."""

    declined = MappingProxyType(
        {
            "comparisons": 0.02,
            "memberships": 0.19,
            "arithmetic": 0.57,
            "arithmetic as written": 1.0,
            "patterns": 0.03,
            "walks": 0.6,
            "aggregates": 0.15,
            "plain-aggregates": 0.06,
            "counts": 0.05,
            "read-counts": 0.06,
            "values": 0.3,
            "values as written": 0.36,
            "plain-values": 0.24,
            "plain-values as written": 0.3,
            "subplans": 0.1,
            "others": 0.41,
            "paths": 0.66,
            "shortest": 0.5,
            "calls": 0.23,
            "correlated-calls": 0.25,
            "correlated-calls as written": 1.0,
            "junctions": 0.53,
            "conditions": 0.72,
            "left-out": 1.0,
            "composed": 0.77,
            "known": 0.83,
            "pattern-values": 0.42,
            "computed": 1.0,
            "entity-lists": 1.0,
            "lists": 0.89,
            "lists as written": 0.91,
            "projections": 1.0,
            "spreads": 0.89,
            "plain-spreads": 0.78,
            "nulls": 0.39,
            "pitfalls": 0.7,
            "nulls as written": 0.47,
            "orders": 0.03,
        }
    )
