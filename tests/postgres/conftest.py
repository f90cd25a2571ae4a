"""One PostgreSQL server for the tests of a process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.postgres.server import serve


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The connection string of a server; skips where none can be started."""
    with serve() as address:
        yield address
