"""The tests that a query engine must pass; they need hypothesis.

The tests of a plugin inherit `QueryEngineContract` and provide the session fixture `query_law`,
which gives a `QueryLaw` of the engine.
"""

from __future__ import annotations

from twinframe.testing.contracts.query_answers import QueryAnswers
from twinframe.testing.contracts.query_generated import GeneratedQueries, SplitQueries
from twinframe.testing.contracts.query_profiles import ProfiledQueries
from twinframe.testing.contracts.query_results import CompiledQueries

__all__ = [
    "CompiledQueries",
    "GeneratedQueries",
    "ProfiledQueries",
    "QueryAnswers",
    "QueryEngineContract",
    "SplitQueries",
]


class QueryEngineContract(
    QueryAnswers, GeneratedQueries, SplitQueries, CompiledQueries, ProfiledQueries
):
    """Everything an engine of a store has to keep; the parts can be inherited apart."""
