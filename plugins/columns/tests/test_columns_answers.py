"""What columns answer, the evaluator answers too; what they cannot say they decline."""

from __future__ import annotations

from types import MappingProxyType
from typing import ClassVar

import pytest

from twinframe.testing.contracts.query_answers import QueryAnswers
from twinframe.testing.contracts.query_generated import GeneratedQueries, SplitQueries
from twinframe.testing.contracts.query_profiles import ProfiledQueries
from twinframe.testing.query_law import QueryLaw


class TestColumns(QueryAnswers, GeneratedQueries, SplitQueries, ProfiledQueries):
    """Columns that were just made."""

    declined = MappingProxyType(
        {
            "comparisons": 0.12,
            "memberships": 0.1,
            "strings": 0.14,
            "arithmetic": 0.27,
            "type-tests": 0.58,
            "walks-between": 0.03,
            "aggregates": 0.36,
            "values": 0.36,
            "others": 0.22,
            "paths": 0.45,
            "shortest": 1.0,
            "calls": 0.12,
            "correlated-calls": 0.09,
            "junctions": 0.54,
            "conditions": 0.58,
            "left-out": 1.0,
            "left-out as written": 0.93,
            "composed": 0.31,
            "composed as written": 0.24,
            "known": 0.24,
            "pattern-values": 0.07,
            "computed": 0.73,
            "entity-lists": 0.43,
            "projections": 0.7,
            "spreads": 0.61,
            "nulls": 0.11,
            "pitfalls": 0.62,
            "orders": 0.45,
            "plain-orders": 0.03,
            "plain-values": 0.11,
            "plain-spreads": 0.02,
        }
    )
    answered: ClassVar[int] = 60
    run_whole: ClassVar[int] = 20

    @pytest.mark.parametrize(
        "value", ["tail(t.list + [])", "[t.s] + t.list", "size(t.list + t.list)", "t.list + t.s"]
    )
    def test_a_list_of_a_document_is_not_taken_for_an_item(
        self, query_law: QueryLaw, value: str
    ) -> None:
        text = f"MATCH (t) RETURN t.$dtId AS i, {value} AS v"
        answer = query_law.check(text, query_law.small)
        assert answer.declined is not None
