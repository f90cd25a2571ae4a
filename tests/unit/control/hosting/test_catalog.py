"""The catalog of hosted graphs: whole changes, seen at once, and no late hand that undoes them."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from twinframe.control.hosting.catalog import (
    Availability,
    Catalog,
    CatalogEntry,
    FenceLost,
    HostedSettings,
    is_resource_id,
)
from twinframe.control.hosting.catalog_files import FileCatalog
from twinframe.errors import InvalidArgument, StorageBusy, StorageDamaged


def build_entry(resource_id: str = "g", incarnation: str = "1", fence: int = 1) -> CatalogEntry:
    store = f"{resource_id}_{incarnation}"
    return CatalogEntry(resource_id, incarnation, fence, "p", store, HostedSettings())


def publish(catalog: Catalog, entry: CatalogEntry) -> None:
    with catalog.changing(entry.resource_id, entry.incarnation, entry.fence) as change:
        change.begin(entry)
        change.serve(entry)


def remove(catalog: Catalog, entry: CatalogEntry) -> None:
    with catalog.changing(entry.resource_id, entry.incarnation, entry.fence) as change:
        change.withdraw()
        change.forget()


def test_what_is_published_is_found_by_every_other_catalog_object(tmp_path: Path) -> None:
    reader, writer = FileCatalog(tmp_path), FileCatalog(tmp_path)
    assert reader.find("g") is None
    publish(writer, build_entry())
    assert reader.find("g") == build_entry()
    assert reader.find("g") is reader.find("g")  # not read again
    assert [entry.resource_id for entry in reader.list_served()] == ["g"]
    assert reader.list_records() == [("g", "1")]


def test_every_change_is_seen_however_fast_they_follow(tmp_path: Path) -> None:
    reader, writer = FileCatalog(tmp_path), FileCatalog(tmp_path)
    entry = build_entry()
    publish(writer, entry)
    for number in range(1, 300):
        entry = replace(entry, generation=number % 2)  # files of equal length
        with writer.changing("g", "1", 1) as change:
            change.serve(entry)
        found = reader.find("g")
        assert found is not None
        assert found.generation == number % 2


def test_a_withdrawn_graph_is_gone_but_its_record_stays_until_it_is_forgotten(
    tmp_path: Path,
) -> None:
    catalog = FileCatalog(tmp_path)
    publish(catalog, build_entry())
    with catalog.changing("g", "1", 1) as change:
        change.withdraw()
        change.withdraw()
    assert FileCatalog(tmp_path).find("g") is None
    assert catalog.list_records() == [("g", "1")]
    remove(catalog, build_entry())
    assert catalog.list_records() == []
    remove(catalog, build_entry())


def test_a_lower_fence_changes_nothing(tmp_path: Path) -> None:
    catalog = FileCatalog(tmp_path)
    publish(catalog, build_entry(fence=5))
    with pytest.raises(FenceLost), catalog.changing("g", "1", 4):
        raise AssertionError("it is not let in")
    assert catalog.find("g") == build_entry(fence=5)


def test_a_fence_that_was_seen_counts_though_nothing_was_changed_under_it(tmp_path: Path) -> None:
    catalog = FileCatalog(tmp_path)
    publish(catalog, build_entry(fence=1))
    with catalog.changing("g", "1", 9):
        pass
    with pytest.raises(FenceLost), FileCatalog(tmp_path).changing("g", "1", 8):
        raise AssertionError("it is not let in")


def test_an_address_is_not_taken_from_another_incarnation(tmp_path: Path) -> None:
    catalog = FileCatalog(tmp_path)
    publish(catalog, build_entry(incarnation="2"))
    late = build_entry(incarnation="1", fence=99)
    with catalog.changing("g", "1", 99) as change:
        change.begin(late)
        with pytest.raises(StorageBusy):
            change.serve(late)
    with catalog.changing("g", "1", 99) as change:
        change.withdraw()  # it is not this one's to withdraw
        change.forget()
    assert catalog.find("g") == build_entry(incarnation="2")
    assert catalog.list_records() == [("g", "2")]


@pytest.mark.parametrize(
    "text", ["", "..", "a/b", "A", "a.b", "-a", "a-", "a_b", "a" * 64, "a\n", "\0", "é", "a.json"]
)
def test_other_texts_are_no_ids_and_touch_no_file(text: str, tmp_path: Path) -> None:
    catalog = FileCatalog(tmp_path)
    publish(catalog, build_entry())
    assert not is_resource_id(text)
    assert catalog.find(text) is None
    with pytest.raises(InvalidArgument):
        catalog.build_directory(text, "1")
    if len(text) < 64:  # an incarnation may have one letter more
        with pytest.raises(InvalidArgument):
            catalog.build_directory("a", text)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"{}", b'{"format":2}', b'{"format":1,"settings":{},"availability":"x"}'],
)
def test_a_damaged_entry_is_said_and_not_served(content: bytes, tmp_path: Path) -> None:
    catalog = FileCatalog(tmp_path)
    publish(catalog, build_entry())
    (tmp_path / "served" / "g.json").write_bytes(content)
    with pytest.raises(StorageDamaged):
        catalog.find("g")
    publish(catalog, build_entry("h"))
    assert [entry.resource_id for entry in catalog.list_served()] == ["h"]


def test_a_format_of_a_newer_release_is_not_guessed_at(tmp_path: Path) -> None:
    catalog = FileCatalog(tmp_path)
    publish(catalog, build_entry())
    path = tmp_path / "served" / "g.json"
    path.write_bytes(path.read_bytes().replace(b'"format": 1', b'"format": 2'))
    with pytest.raises(StorageDamaged, match="format 2"):
        catalog.find("g")


def test_an_entry_is_kept_from_being_removed_while_its_store_is_opened(tmp_path: Path) -> None:
    catalog, entry = FileCatalog(tmp_path), build_entry()
    publish(catalog, entry)
    with catalog.keeping(entry) as served:
        assert served
        with FileCatalog(tmp_path).keeping(entry) as also:  # several workers may open at once
            assert also
    publish(catalog, replace(entry, fence=2, availability=Availability.OFFLINE))
    with catalog.keeping(entry) as served:
        assert not served


# --- processes that die -----------------------------------------------------------------------

_CALLS = ("fsync", "rename", "replace", "unlink", "mkdir", "utime", "rmdir")


def run_until(count: int, work: Callable[[], None]) -> int:
    """Run `background_tasks` in a child that dies before its `count`-th change of the file
    system.
    """

    def child() -> None:
        left = [count]

        def dying(call: Callable[..., object]) -> Callable[..., object]:
            def run(*args: object, **options: object) -> object:
                left[0] -= 1
                if left[0] < 0:
                    os._exit(9)
                return call(*args, **options)

            return run

        for name in _CALLS:
            setattr(os, name, dying(getattr(os, name)))
        work()
        os._exit(0)

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join(120)
    assert process.exitcode is not None
    return process.exitcode


@pytest.mark.parametrize("step", ["publish", "change", "remove"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # forking with threads of other tests
def test_a_change_that_is_cut_off_anywhere_can_be_finished_by_another(
    step: str, tmp_path: Path
) -> None:
    deaths = 0
    for count in range(60):
        folder = tmp_path / str(count)
        catalog = FileCatalog(folder)
        old, new = build_entry(fence=1), replace(build_entry(fence=2), generation=7)
        if step != "publish":
            publish(catalog, old)

        def apply(catalog: Catalog = catalog, new: CatalogEntry = new) -> None:
            if step == "remove":
                remove(catalog, new)
            else:
                publish(catalog, new)

        code = run_until(count, apply)
        deaths += code == 9
        found = FileCatalog(folder).find("g")
        assert found in {"publish": (None, new), "change": (old, new), "remove": (old, None)}[step]
        after = FileCatalog(folder)
        after.tidy()
        assert list(folder.rglob("*.new")) == []
        (publish if step != "remove" else remove)(after, replace(new, fence=3))
        expected = None if step == "remove" else replace(new, fence=3)
        assert FileCatalog(folder).find("g") == expected
        if step == "remove":
            assert list((folder / "graphs").iterdir()) == []
        if code == 0:
            break
    else:
        raise AssertionError("it never came to its end")
    assert deaths >= 3


def test_tidying_leaves_what_has_a_record(tmp_path: Path) -> None:
    catalog = FileCatalog(tmp_path)
    publish(catalog, build_entry())
    with catalog.changing("h", "1", 1) as change:
        change.begin(build_entry("h"))
    (tmp_path / "graphs" / "bare.1").mkdir()
    (tmp_path / "graphs" / "old.1.gone").mkdir()
    catalog.tidy()
    assert catalog.list_records() == [("g", "1"), ("h", "1")]
    assert catalog.find("g") == build_entry()
