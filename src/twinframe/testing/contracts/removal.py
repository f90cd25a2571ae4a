"""The storage contract for removing a graph, and for stores that make backups."""

from __future__ import annotations

import random
from pathlib import Path
from typing import cast

import pytest

from twinframe.errors import StorageBusy, StorageDamaged
from twinframe.storage.backups import Backups, check_seal
from twinframe.storage.base import GraphStore, Instance
from twinframe.storage.epochs import Epoch, read_epoch
from twinframe.testing.contracts.base import StoreContract, put, reading
from twinframe.testing.factories import (
    build_model_id,
    build_model_record,
    build_relationship_record,
    build_twin_record,
)


class RemovalContract(StoreContract):
    """A removed graph is gone as a whole."""

    def test_a_removed_graph_comes_back_empty_and_as_another(self, tmp_path: Path) -> None:
        store = self.make_store(tmp_path)
        store.open()
        put(store, build_model_record("Space"), build_twin_record("t"))
        before, epoch = _read_instance(store), _read_epoch(store)
        store.close()
        self.make_store(tmp_path).remove(1)

        store = self.make_store(tmp_path)
        store.open()
        try:
            after = _read_instance(store)
            assert after.id != before.id
            assert _read_epoch(store) != epoch
            assert after.secret != before.secret
            with reading(store) as session:
                assert not session.has_twin("t")
                assert session.read_model(build_model_id("Space")) is None
            assert list(store.verify()) == []
        finally:
            store.close()

    def test_removing_what_is_not_there_changes_nothing(self, tmp_path: Path) -> None:
        self.make_store(tmp_path).remove(1)
        self.make_store(tmp_path).remove(1)


class BackedUpStore(GraphStore, Backups):
    """A store whose driver makes backups."""


class BackupContract(StoreContract):
    """For drivers whose stores are `Backups` too."""

    def test_a_restored_graph_is_what_it_was_at_its_backup(self, tmp_path: Path) -> None:
        place, target, store = self._begin(tmp_path)
        put(store, build_model_record("Space"), build_twin_record("a"), build_twin_record("b"))
        put(store, build_relationship_record("a", "r", "b"))
        before = _read_everything(store)
        store.back_up(target)
        put(store, build_twin_record("later"))
        assert _read_everything(store) != before
        store.close()

        closed = self._make(place)
        closed.restore(target, 1)
        again = self._open(place)
        try:
            assert _read_everything(again) == before
            assert list(again.verify()) == []
            put(again, build_twin_record("after"))
        finally:
            again.close()

    def test_a_backup_restores_a_graph_that_is_gone(self, tmp_path: Path) -> None:
        place, target, store = self._begin(tmp_path)
        put(store, build_twin_record("a"))
        before = _read_everything(store)
        store.back_up(target)
        store.close()
        store.remove(1)
        store.restore(target, 1)
        self._check(place, before)

    def test_a_restored_graph_counts_its_events_in_another_epoch(self, tmp_path: Path) -> None:
        place, target, store = self._begin(tmp_path)
        put(store, build_twin_record("a"))
        epochs = [_read_epoch(store)]
        assert epochs[0].is_first
        store.back_up(target)
        store.close()
        for _ in range(2):
            store.restore(target, 1)
            again = self._open(place)
            epochs += [_read_epoch(again), _read_epoch(again)]
            again.back_up(tmp_path / f"copy{len(epochs)}")
            again.close()
        store.restore(tmp_path / "copy3", 1)  # a backup that has an epoch of its own
        again = self._open(place)
        epochs.append(_read_epoch(again))
        assert list(again.verify()) == []
        again.close()
        assert [epoch.is_first for epoch in epochs] == [True, *[False] * 5]
        assert (epochs[1], epochs[3]) == (epochs[2], epochs[4])
        assert len({epoch.id for epoch in epochs}) == 4

    def test_an_open_graph_is_neither_replaced_nor_removed(self, tmp_path: Path) -> None:
        place, target, store = self._begin(tmp_path)
        put(store, build_twin_record("a"))
        store.back_up(target)
        other = self._make(place)
        with pytest.raises(StorageBusy):
            other.restore(target, 0.05)
        with pytest.raises(StorageBusy):
            other.remove(0.05)
        with reading(store) as session:
            assert session.has_twin("a")
        store.close()
        other.remove(0.05)

    @pytest.mark.parametrize(
        "content", [b"", b"no backup at all", b"SQLite format 3\0" + b"\0" * 99]
    )
    def test_what_is_no_backup_is_refused_and_changes_nothing(
        self, tmp_path: Path, content: bytes
    ) -> None:
        place, target, store = self._begin(tmp_path)
        put(store, build_twin_record("a"))
        before = _read_everything(store)
        store.close()
        target.write_bytes(content)
        with pytest.raises(StorageDamaged):
            store.restore(target, 1)
        with pytest.raises(StorageDamaged):
            store.restore(tmp_path / "nothing", 1)
        self._check(place, before)

    def test_a_backup_that_is_not_what_it_was_is_refused_and_changes_nothing(
        self, tmp_path: Path
    ) -> None:
        place, target, store = self._begin(tmp_path)
        put(store, build_twin_record("a"))
        store.back_up(target)
        put(store, build_twin_record("b"))
        before = _read_everything(store)
        store.close()
        sound = target.read_bytes()
        assert check_seal(target)
        dice = random.Random(5)
        flipped = [dice.randrange(len(sound)) for _ in range(12)]
        for at in (*flipped, len(sound) - 1, len(sound) - 80):
            target.write_bytes(sound[:at] + bytes([sound[at] ^ 16]) + sound[at + 1 :])
            with pytest.raises(StorageDamaged, match=r"is damaged: (its content|the digest)"):
                store.restore(target, 1)
        for content in (sound[:-7], sound[: len(sound) // 2], sound + b"x", sound + sound):
            target.write_bytes(content)
            with pytest.raises(StorageDamaged):
                store.restore(target, 1)
        self._check(place, before)

    def test_a_backup_from_before_there_were_digests_is_restored(self, tmp_path: Path) -> None:
        place, target, store = self._begin(tmp_path)
        put(store, build_twin_record("a"))
        before = _read_everything(store)
        store.back_up(target)
        store.close()
        content = target.read_bytes()
        target.write_bytes(content[: len(content) // 512 * 512])
        assert not check_seal(target)
        store.restore(target, 1)
        self._check(place, before)

    def _begin(self, tmp_path: Path) -> tuple[Path, Path, BackedUpStore]:
        """Open a store; return its place, and one for a backup, with it."""
        place = tmp_path / "graph"
        place.mkdir()
        return place, tmp_path / "copy", self._open(place)

    def _check(self, place: Path, expected: list[object]) -> None:
        store = self._open(place)
        assert _read_everything(store) == expected
        store.close()

    def _open(self, place: Path) -> BackedUpStore:
        store = self._make(place)
        store.open()
        return store

    def _make(self, place: Path) -> BackedUpStore:
        store = self.make_store(place)
        assert isinstance(store, Backups)
        return cast("BackedUpStore", store)


def _read_instance(store: GraphStore) -> Instance:
    with reading(store) as session:
        return session.read_instance()


def _read_epoch(store: GraphStore) -> Epoch:
    with reading(store) as session:
        return read_epoch(session)


def _read_everything(store: GraphStore) -> list[object]:
    """Return identity, models, twins and relationships with their exact bytes."""
    with reading(store) as session:
        twins = sorted(str(node.document["$dtId"]) for node in session.scan_nodes(None))
        return [
            session.read_instance(),
            list(session.read_models(after=0, limit=1000)),
            [session.read_twin(twin) for twin in twins],
            [
                listed.item
                for twin in twins
                for listed in session.read_relationships(twin, name=None, after=None, limit=1000)
            ],
        ]
