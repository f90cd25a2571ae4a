"""One PostgreSQL server for the tests of a process."""

from __future__ import annotations

import pytest

from tests.postgres.server import share_server


@pytest.fixture(scope="session")
def postgres() -> str:
    """The connection string of a server; skips where none can be started."""
    return share_server()
