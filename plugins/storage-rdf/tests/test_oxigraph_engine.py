"""The embedded engine on disk: what is acknowledged is synced, and its absence is named."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from twinframe.errors import ConfigurationError, StorageError, StorageFull
from twinframe.testing.contracts.base import put, reading
from twinframe.testing.factories import build_twin_record
from twinframe_storage_rdf.building import build_store
from twinframe_storage_rdf.engines import oxigraph
from twinframe_storage_rdf.engines.oxigraph import OxigraphEngine
from twinframe_storage_rdf.results import parse_rows, parse_truth
from twinframe_storage_rdf.settings import RdfSettings


def test_the_log_is_synced_with_all_that_was_written_before_a_write_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = build_store(RdfSettings(directory=str(tmp_path), in_process=True), "g")
    store.open()
    synced: dict[str, int] = {}
    real = os.fdatasync

    def record(handle: int) -> None:
        real(handle)
        synced[str(Path(f"/proc/self/fd/{handle}").readlink())] = os.fstat(handle).st_size

    monkeypatch.setattr(oxigraph.os, "fdatasync", record)
    for n in range(5):
        synced.clear()
        put(store, build_twin_record("a", n=n))
        logs = {str(file): file.stat().st_size for file in (tmp_path / "g/store").glob("*.log")}
        assert logs
        assert synced == logs
    store.close()


def test_the_log_does_not_grow_with_all_that_was_ever_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oxigraph, "_MOST_LOG", 1024**2)
    store = build_store(RdfSettings(directory=str(tmp_path), in_process=True), "g")
    store.open()
    for n in range(40):
        put(store, build_twin_record(f"t{n}", text=f"{n:06}" * 30_000))
    store.close()
    size = sum(file.stat().st_size for file in (tmp_path / "g/store").glob("*.log"))
    assert 0 < size < 40 * 180_000
    store.open()
    with reading(store) as session:
        assert [twin.twin_id for twin in session.iterate_twins()] == sorted(
            f"t{n}" for n in range(40)
        )
    assert list(store.verify()) == []
    store.close()


def test_many_small_writes_are_flushed_with_what_they_overwrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oxigraph, "_MOST_WRITES", 10)
    flushed = []
    monkeypatch.setattr(OxigraphEngine, "_start_flush", lambda _, store: flushed.append(store))
    store = build_store(RdfSettings(directory=str(tmp_path), in_process=True), "g")
    store.open()
    before = len(flushed)
    for n in range(20):
        put(store, build_twin_record("a", n=n))
    assert len(flushed) == before + 2
    store.close()


def test_two_openers_of_one_directory_are_refused(tmp_path: Path) -> None:
    first = OxigraphEngine(tmp_path)
    first.open()
    with pytest.raises(ConfigurationError, match="cannot be opened"):
        OxigraphEngine(tmp_path).open()
    first.close()


@pytest.mark.parametrize(
    "answer",
    [b"", b"<html/>", b"{}", b"[]", b'{"head":{},"results":{}}', b'{"boolean":1}', b"null"],
)
def test_an_answer_that_is_no_result_is_an_error(answer: bytes) -> None:
    with pytest.raises(StorageError):
        list(parse_rows(answer))
    with pytest.raises(StorageError):
        parse_truth(answer)


def fail_for_room(*_: object) -> int:
    raise OSError("IO error: No space left on device: While appending to file")


def test_a_write_without_room_changes_nothing_and_one_without_sync_is_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = OxigraphEngine(tmp_path / "store")
    engine.open()
    insert = "INSERT DATA { <a:a> <a:b> <a:c> }"
    with monkeypatch.context() as patch:
        patch.setattr(
            engine, "_store", SimpleNamespace(query=engine._store.query, update=fail_for_room)
        )
        with pytest.raises(StorageFull):
            engine.apply("ASK {}", insert)
        assert not engine.unsynced
    with monkeypatch.context() as patch:
        patch.setattr(oxigraph, "_sync_file", fail_for_room)
        with pytest.raises(StorageFull):
            engine.apply("ASK {}", insert)
        assert engine.unsynced
    engine.close()


def test_a_store_is_reopened_only_with_room_for_what_its_log_becomes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / "store"
    engine = OxigraphEngine(directory)
    engine.open()
    logged = sum(path.stat().st_size for path in directory.glob("*.log"))
    assert engine.has_room()
    for free, has_room in ((0, False), (logged + oxigraph._ROOM_TO_OPEN, True)):
        disk = SimpleNamespace(f_bavail=free, f_frsize=1)
        monkeypatch.setattr(oxigraph.os, "statvfs", lambda _, disk=disk: disk)
        assert engine.has_room() is has_room
    engine.close()
    assert OxigraphEngine().has_room(), "what is in memory needs no disk"
