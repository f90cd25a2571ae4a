"""What comes of plans for columns with another engine beside them, as a service uses them."""

from __future__ import annotations

import pytest

from twinframe.testing.contracts.query_results import CompiledQueries
from twinframe.testing.query_law import QueryLaw


@pytest.fixture(scope="module")
def query_law(beside_law: QueryLaw) -> QueryLaw:
    """The law of columns with another engine beside them."""
    return beside_law


class TestColumnsBesideAnother(CompiledQueries):
    """Bytes, pages and values."""
