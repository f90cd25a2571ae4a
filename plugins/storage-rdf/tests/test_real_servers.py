"""Real SPARQL servers keep the storage contract; skipped where they are not installed."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from twinframe.errors import ConfigurationError
from twinframe.storage.base import GraphStore
from twinframe.testing.storage_contract import GraphStoreContract
from twinframe_storage_rdf.building import build_store
from twinframe_storage_rdf.products import VIRTUOSO
from twinframe_storage_rdf.terms import Term


class ServerContract(GraphStoreContract):
    server: Any

    def make_store(self, place: Path) -> GraphStore:
        name = hashlib.sha256(str(place).encode()).hexdigest()[:12]
        return build_store(self.server.build_settings(), name)


class TestVirtuoso(ServerContract):
    @pytest.fixture(autouse=True)
    def _take_server(self, virtuoso: Any) -> None:
        self.server = virtuoso


class TestOxigraphServer(ServerContract):
    @pytest.fixture(autouse=True)
    def _take_server(self, oxigraph_server: Any) -> None:
        self.server = oxigraph_server


@pytest.mark.parametrize("level", [1, 2, None, "4"])
def test_a_virtuoso_that_lets_two_writers_win_is_refused(level: Term) -> None:
    with pytest.raises(ConfigurationError, match="DefaultIsolation = 4"):
        VIRTUOSO.check(lambda text: iter([(level,)]))


@pytest.mark.skipif(
    "TWINFRAME_ROUNDS" not in os.environ, reason="starts a server more: make test-sparql runs it"
)
def test_virtuoso_as_it_comes_says_what_it_is_refused_for(
    tmp_path: Path, real_servers: Any
) -> None:
    with real_servers.run_virtuoso(tmp_path, isolation=2) as server:
        store = build_store(server.build_settings(), "default")
        with pytest.raises(ConfigurationError, match="DefaultIsolation = 2"):
            store.open()
        store.close()
