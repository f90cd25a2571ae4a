"""The plugin of the how-to page: it keeps the published contract and serves real requests."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.e2e.server import Server
from tests.e2e.wire import COUNTER_MODEL, Wire, counter
from tests.plugin_example.twinframe_storage_snapshot.plugin import SnapshotStore
from tests.waiting import run_program
from twinframe.storage.base import GraphStore
from twinframe.testing.storage_contract import GraphStoreContract

HERE = Path(__file__).resolve().parent


class TestSnapshotStore(GraphStoreContract):
    """Everything a graph store has to keep."""

    def make_store(self, place: Path) -> GraphStore:
        """Stores of one place hold the same graph."""
        return SnapshotStore(place / "graph.json")


@pytest.fixture
def installed(tmp_path: Path) -> dict[str, str]:
    """An environment in which the plugin is installed as a distribution of its own."""
    information = tmp_path / "site" / "twinframe_storage_snapshot-0.1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: twinframe-storage-snapshot\nVersion: 0.1.0\n"
    )
    (information / "entry_points.txt").write_text(
        "[twinframe.storage]\nsnapshot = twinframe_storage_snapshot.plugin\n"
    )
    return {
        "PYTHONPATH": os.pathsep.join([str(tmp_path / "site"), str(HERE)]),
        "Storage__Provider": "snapshot",
        "Storage__Snapshot__Directory": str(tmp_path / "snapshots"),
    }


def test_the_plugin_is_listed_once_it_is_installed(installed: dict[str, str]) -> None:
    done = run_program(
        [sys.executable, "-m", "twinframe", "plugins"],
        env={**os.environ, **installed},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "twinframe-storage-snapshot" in done.stdout


def test_the_service_keeps_its_graph_in_the_plugin(
    tmp_path: Path, installed: dict[str, str]
) -> None:
    server = Server(tmp_path, workers=1, environment=installed)
    with server:
        wire = Wire(server.port)
        assert wire.call("POST", "/models", [COUNTER_MODEL])[0] == 201
        assert wire.call("PUT", "/digitaltwins/one", counter(7))[0] == 200
        wire.close()
        server.kill()
        server.start()
        wire = Wire(server.port)
        assert wire.call("GET", "/digitaltwins/one")[2]["value"] == 7
        query = {"query": "MATCH (c:Counter) RETURN c.value AS value"}
        assert wire.call("POST", "/query", query)[2]["value"] == [{"value": 7}]
        wire.close()


def test_a_misspelt_key_of_the_plugin_stops_the_start(installed: dict[str, str]) -> None:
    done = run_program(
        [sys.executable, "-m", "twinframe", "check"],
        env={**os.environ, **installed, "Storage__Snapshot__Directroy": "x"},
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert "Directory" in done.stdout + done.stderr
