"""The reference control store keeps the contract of control stores."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from twinframe.settings import Section
from twinframe.storage.control import ControlStore
from twinframe.storage.control_memory import MemoryControlStore, MemoryRecords
from twinframe.storage.memory import twinframe_control_store
from twinframe.testing.contracts.control_base import KINDS, build_thing, insert, read_ids
from twinframe.testing.control_contract import ControlStoreContract


class TestMemoryControlStore(ControlStoreContract):
    def make_opener(self, place: Path) -> Callable[[], ControlStore]:
        records = self.__dict__.setdefault("records", {})
        return partial(MemoryControlStore, records.setdefault(place, MemoryRecords()))


def test_the_hook_gives_a_store_of_its_own() -> None:
    first = twinframe_control_store(settings=Section(), name="control")
    second = twinframe_control_store(settings=Section(), name="control")
    for store in (first, second):
        assert isinstance(store, MemoryControlStore)
        store.open(KINDS)
    insert(first, build_thing("a"))
    assert (read_ids(first), read_ids(second)) == (["a"], [])
