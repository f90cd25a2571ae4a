"""The law of the query engine over small graphs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.postgres.graphs import Graphs
from twinframe.testing.query_law import QueryLaw
from twinframe_storage_postgres.compiler.engine import PostgresQueryEngine


@pytest.fixture(scope="session")
def query_law(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QueryLaw]:
    """The law of this engine."""
    graphs = Graphs(tmp_path_factory.mktemp("law"))
    law = QueryLaw(PostgresQueryEngine(), graphs.open)
    yield law
    law.close()
    graphs.close()
