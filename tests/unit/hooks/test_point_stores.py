"""Point stores are built where telemetry is kept, and where there is a place for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from twinframe.errors import ConfigurationError, PluginError
from twinframe.hooks.installation import load_installation


def test_there_is_none_where_no_telemetry_is_kept(tmp_path: Path) -> None:
    installation = load_installation(environ={"Storage__Sqlite__Directory": str(tmp_path)})
    assert installation.build_point_store(installation.build_store()) is None


def test_the_points_of_a_graph_go_with_its_files(tmp_path: Path) -> None:
    environ = {"Storage__Sqlite__Directory": str(tmp_path), "History__Telemetry": "all"}
    installation = load_installation(environ=environ)
    store = installation.build_store()
    points = installation.build_point_store(store)
    assert points is not None
    store.open()
    points.list_paths("a")
    points.close()
    store.close()
    assert (tmp_path / "default.beside" / "points.db").stat().st_mode & 0o777 == 0o600
    store.remove(5.0)
    assert not (tmp_path / "default.beside").exists()


def test_a_storage_without_a_directory_is_refused_at_the_start() -> None:
    environ = {"Storage__Provider": "memory", "History__Telemetry": "all"}
    installation = load_installation(environ=environ)
    with pytest.raises(ConfigurationError, match="Storage__Provider=memory has neither"):
        installation.build_point_store(installation.build_store())


def test_a_missing_plugin_is_named_with_its_distribution(tmp_path: Path) -> None:
    environ = {
        "Storage__Sqlite__Directory": str(tmp_path),
        "History__Telemetry": "all",
        "History__Store": "pionts",
    }
    with pytest.raises(PluginError, match="points"):
        load_installation(environ=environ)
