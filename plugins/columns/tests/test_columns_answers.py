"""What columns answer, the evaluator answers too; what they cannot say they decline."""

from __future__ import annotations

from types import MappingProxyType
from typing import ClassVar

from twinframe.testing.contracts.query_answers import QueryAnswers
from twinframe.testing.contracts.query_generated import GeneratedQueries, SplitQueries


class TestColumns(QueryAnswers, GeneratedQueries, SplitQueries):
    """Columns that were just made."""

    declined = MappingProxyType(
        {
            "comparisons": 0.12,
            "memberships": 0.15,
            "strings": 0.14,
            "arithmetic": 0.27,
            "type-tests": 0.58,
            "patterns": 0.05,
            "walks": 0.6,
            "walks-between": 0.08,
            "aggregates": 0.42,
            "values": 0.38,
            "subplans": 0.2,
            "subplans as written": 0.3,
            "others": 0.43,
            "paths": 1.0,
            "shortest": 1.0,
            "calls": 1.0,
            "correlated-calls": 0.42,
            "correlated-calls as written": 1.0,
            "junctions": 0.54,
            "conditions": 0.65,
            "left-out": 1.0,
            "left-out as written": 0.93,
            "composed": 0.85,
            "composed as written": 0.77,
            "known": 0.53,
            "pattern-values": 0.27,
            "pattern-values as written": 0.34,
            "computed": 0.73,
            "entity-lists": 0.99,
            "projections": 1.0,
            "spreads": 0.61,
            "nulls": 0.28,
            "nulls as written": 0.36,
            "orders": 0.5,
            "plain-aggregates": 0.09,
            "plain-values": 0.16,
            "plain-spreads": 0.02,
            "plain-orders": 0.09,
        }
    )
    answered: ClassVar[int] = 60
    run_whole: ClassVar[int] = 20
