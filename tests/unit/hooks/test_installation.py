"""Which control store an installation builds, and what it says when there is none."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tests.waiting import PATIENCE, Threads
from twinframe.errors import PluginError
from twinframe.hooks.installation import Installation, build_installation, load_installation
from twinframe.settings import ControlSettings, Settings
from twinframe.storage.control_memory import MemoryControlStore
from twinframe.testing.contracts.control_base import KINDS, build_thing, insert, read_ids


def test_control_records_lie_beside_the_graphs_of_the_chosen_plugin(tmp_path: Path) -> None:
    environ = {"Storage__Sqlite__Directory": str(tmp_path), "Storage__Provider": "memory"}
    store = load_installation(environ=environ).build_control_store()
    assert list(tmp_path.iterdir()) == []  # not yet opened
    store.open(KINDS)
    insert(store, build_thing("a"))
    store.close()
    assert (tmp_path / "control.db").is_file()
    again = load_installation(environ=environ).build_control_store()
    again.open(KINDS)
    assert read_ids(again) == ["a"]
    again.close()


def test_the_control_store_is_chosen_by_name() -> None:
    settings = Settings(control=ControlSettings(store="Memory"))
    assert isinstance(build_installation(settings).build_control_store(), MemoryControlStore)


def test_a_storage_plugin_that_keeps_graphs_only_is_refused_with_another() -> None:
    settings = Settings(control=ControlSettings(store="rdf"))
    with pytest.raises(PluginError, match=r"Control__Store=rdf.*Control__Store=sqlite"):
        build_installation(settings).build_control_store()


def test_an_unknown_control_store_is_refused_with_the_nearest() -> None:
    settings = Settings(control=ControlSettings(store="sqlight"))
    with pytest.raises(PluginError, match="sqlite"):
        build_installation(settings).build_control_store()


def test_a_storage_plugin_is_loaded_once_whichever_threads_ask() -> None:
    for _ in range(10):
        installation = build_installation(Settings())
        ready = threading.Barrier(8)

        def load(
            installation: Installation = installation, ready: threading.Barrier = ready
        ) -> int:
            ready.wait(PATIENCE)
            return id(installation.load_storage())

        with Threads(8) as pool:
            found = [pool.submit(load) for _ in range(8)]
        assert len({future.result() for future in found}) == 1


def test_a_missing_point_store_names_its_setting() -> None:
    with pytest.raises(PluginError) as caught:
        load_installation(environ={"History__Store": "pts", "History__Telemetry": "all"})
    assert caught.value.message.startswith("History__Store=pts: There is no point store plugin")


def test_a_missing_plugin_that_is_loaded_later_names_its_setting() -> None:
    installation = load_installation(environ={"Control__Store": "nope", "Export__Writer": "nope"})
    with pytest.raises(PluginError, match="Control__Store=nope: There is no storage plugin"):
        installation.build_control_store()
    with pytest.raises(PluginError, match="Export__Writer=nope: There is no storage plugin"):
        installation.build_triple_writer()
