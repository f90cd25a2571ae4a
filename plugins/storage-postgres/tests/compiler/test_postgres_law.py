"""What SQL of PostgreSQL answers, the evaluator answers too; what it cannot say is declined."""

from __future__ import annotations

import os
from types import MappingProxyType

import pytest

from twinframe.testing.query_contract import CompiledQueries, QueryEngineContract
from twinframe.testing.query_corpora import CORPORA, PARAMETERS
from twinframe.testing.query_law import QueryLaw

_EVERY = 40
_IS_WANTED = "postgres" in os.environ.get("TWINFRAME_STORAGES", "") or (
    "TWINFRAME_LAW_TIMES" in os.environ
)
_NEED_NOT_PARSE = ("left-out", "composed")


class TestPostgresQueries(CompiledQueries):
    """What a compiled query promises."""

    declined_characters = "\1"


@pytest.mark.parametrize("theme", CORPORA)
def test_a_sample_of_the_corpora_is_answered_alike(theme: str, query_law: QueryLaw) -> None:
    texts = CORPORA[theme][:: 1 if len(CORPORA[theme]) < _EVERY else _EVERY]
    lenient = theme in _NEED_NOT_PARSE
    found = [query_law.check(text, None, PARAMETERS, lenient=lenient) for text in texts]
    assert lenient or any(answer.declined is None for answer in found)


@pytest.mark.skipif(
    not _IS_WANTED,
    reason="it takes minutes; TWINFRAME_STORAGES=postgres runs it, as make test-postgres does",
)
class TestPostgresQueryEngine(QueryEngineContract):
    """SQL declines few of the texts."""

    declined = MappingProxyType(
        {
            "comparisons": 0.01,
            "arithmetic": 0.26,
            "arithmetic as written": 0.3,
            "aggregates": 0.09,
            "values": 0.13,
            "others": 0.08,
            "shortest": 0.5,
            "correlated-calls as written": 1.0,
            "junctions": 0.53,
            "conditions": 0.65,
            "left-out": 1.0,
            "composed": 0.47,
            "known": 0.18,
            "pattern-values": 0.07,
            "computed": 0.59,
            "entity-lists": 0.35,
            "lists": 0.12,
            "lists as written": 0.14,
            "projections": 0.11,
            "spreads": 0.39,
            "nulls": 0.15,
            "nulls as written": 0.25,
            "pitfalls": 0.53,
            "orders": 0.03,
            "plain-values": 0.04,
            "plain-spreads": 0.07,
        }
    )
    declined_characters = "\1"
    answered = 200
    run_whole = 150
