"""What the service gets from this plugin through its hooks and its entry point."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

import pluggy
import pytest
from pydantic import ValidationError

from twinframe.hooks import specs
from twinframe.storage.memory import MemoryStore
from twinframe_storage_sqlite import plugin
from twinframe_storage_sqlite.compiler.engine import SqliteQueryEngine
from twinframe_storage_sqlite.settings import SqliteSettings
from twinframe_storage_sqlite.store import SqliteGraphStore


@pytest.fixture
def manager() -> pluggy.PluginManager:
    """The hooks with this plugin alone; a hook that does not exist is an error."""
    manager = pluggy.PluginManager("twinframe")
    manager.add_hookspecs(specs)
    manager.register(plugin)
    manager.check_pending()
    return manager


def test_the_entry_point_sqlite_names_the_plugin() -> None:
    (found,) = entry_points(group="twinframe.storage", name="sqlite")
    assert found.load() is plugin


def test_the_hooks_give_settings_store_and_engine(
    manager: pluggy.PluginManager, tmp_path: Path
) -> None:
    section = manager.hook.twinframe_settings()
    assert section is SqliteSettings
    settings = section.model_validate({"Directory": str(tmp_path)})
    store = manager.hook.twinframe_graph_store(settings=settings, graph="default", database="")
    assert isinstance(store, SqliteGraphStore)
    assert list(tmp_path.iterdir()) == []  # not yet opened
    assert isinstance(manager.hook.twinframe_query_engine(store=store), SqliteQueryEngine)


def test_another_store_gets_no_engine_of_ours(manager: pluggy.PluginManager) -> None:
    assert manager.hook.twinframe_query_engine(store=MemoryStore()) is None


def test_every_setting_is_described_and_unknown_ones_are_refused() -> None:
    for field in SqliteSettings.model_fields.values():
        assert field.description
    with pytest.raises(ValidationError):
        SqliteSettings.model_validate({"Durabilty": "full"})


def test_the_default_is_durable() -> None:
    assert SqliteSettings().durability == "full"
