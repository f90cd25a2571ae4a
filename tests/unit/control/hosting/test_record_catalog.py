"""The catalog of hosted graphs in a control store: several nodes, one state, no late hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from time import monotonic, sleep

import pytest

from tests.waiting import PATIENCE
from twinframe.control.hosting.catalog import (
    Availability,
    Catalog,
    CatalogEntry,
    FenceLost,
    HostedSettings,
    open_kept,
)
from twinframe.control.hosting.catalog_records import (
    HOLD_SECONDS,
    LEASE_SECONDS,
    RecordCatalog,
)
from twinframe.control.hosting.catalog_view import ADDRESS
from twinframe.control.hosting.journal import read_all_statistics
from twinframe.control.hosting.quotas import SharedCounter
from twinframe.errors import InvalidArgument, StorageBusy, StorageDamaged, StorageError
from twinframe.storage.control_memory import MemoryControlStore, MemoryRecords
from twinframe.storage.memory import MemoryStore

MakeCatalog = Callable[[str], RecordCatalog]


class Clock:
    """A monotonic clock that a test turns."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class CuttableStore(MemoryControlStore):
    """A store whose database can be away."""

    is_away = False
    fails = False

    def wait_for_wake(self, topic: str, timeout: float) -> None:
        super().wait_for_wake(topic, min(timeout, 0.01))

    def session(self):  # type: ignore[no-untyped-def]  # as the base
        if self.fails:
            raise ZeroDivisionError("an error that nobody foresaw")
        if self.is_away:
            raise StorageError("the database is away")
        return super().session()

    def write(self, functions):  # type: ignore[no-untyped-def]  # as the base
        if self.is_away:
            raise StorageError("the database is away")
        return super().write(functions)


class Nodes:
    """Catalogs of several machines over one database."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = Clock()
        self.records = MemoryRecords()
        self.stores: dict[str, CuttableStore] = {}
        self.made: list[RecordCatalog] = []

    def make(self, name: str) -> RecordCatalog:
        """A catalog of the machine of this name; a provisioner until it is started."""
        store = self.stores[name] = CuttableStore(self.records)
        catalog = RecordCatalog(self.folder / name, store, self.clock)
        self.made.append(catalog)
        return catalog

    def serve(self, name: str) -> RecordCatalog:
        """One that follows."""
        catalog = self.make(name)
        catalog.start()
        return catalog


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    nodes = Nodes(tmp_path)
    yield nodes
    for catalog in nodes.made:
        catalog.close()


def build_entry(resource_id: str = "g", incarnation: str = "1", fence: int = 1) -> CatalogEntry:
    store = f"{resource_id}_{incarnation}"
    return CatalogEntry(resource_id, incarnation, fence, "p", store, HostedSettings())


def wait_until(is_done: Callable[[], object]) -> None:
    """Wait for what a thread does."""
    end = monotonic() + PATIENCE
    while not is_done():
        assert monotonic() < end
        sleep(0.005)


def publish(catalog: Catalog, entry: CatalogEntry) -> None:
    with catalog.changing(entry.resource_id, entry.incarnation, entry.fence) as change:
        change.begin(entry)
        change.serve(entry)


def remove(catalog: Catalog, entry: CatalogEntry) -> None:
    with catalog.changing(entry.resource_id, entry.incarnation, entry.fence) as change:
        change.withdraw()
        change.forget()


# --- what is served -----------------------------------------------------------------------------


def test_what_one_node_publishes_changes_and_withdraws_every_other_sees(nodes: Nodes) -> None:
    server, provisioner = nodes.serve("a"), nodes.make("b")
    entry = build_entry()
    publish(provisioner, entry)
    assert provisioner.find("g") == entry
    wait_until(lambda: server.find("g") == entry)
    found = server.find("g")
    server.look()
    assert server.find("g") is found  # not another object
    changed = replace(entry, settings=HostedSettings(max_concurrent_connections=7))
    publish(provisioner, changed)
    wait_until(lambda: server.find("g") == changed)
    with provisioner.changing("g", "1", 1) as change:
        change.withdraw()
        change.withdraw()
    wait_until(lambda: server.find("g") is None)
    assert provisioner.list_records() == [("g", "1")]
    remove(provisioner, entry)
    remove(provisioner, entry)
    assert provisioner.list_records() == []
    publish(provisioner, build_entry(incarnation="2"))
    wait_until(lambda: server.find("g") == build_entry(incarnation="2"))


def test_nothing_is_served_once_the_catalog_could_not_be_seen_for_long(nodes: Nodes) -> None:
    server = nodes.serve("a")
    publish(server, build_entry())
    wait_until(lambda: server.find("g") is not None)
    nodes.stores["a"].is_away = True
    nodes.clock.now += HOLD_SECONDS + 0.1
    with pytest.raises(StorageBusy):
        server.find("g")
    nodes.stores["a"].is_away = False

    def is_back() -> bool:
        try:
            return server.find("g") is not None
        except StorageBusy:
            return False

    wait_until(is_back)


def test_an_error_that_nobody_foresaw_is_logged_once_and_does_not_end_the_looks(
    nodes: Nodes, caplog: pytest.LogCaptureFixture
) -> None:
    server = nodes.serve("a")
    publish(server, build_entry("g"))
    nodes.stores["a"].fails = True
    wait_until(lambda: "ZeroDivisionError" in caplog.text)
    nodes.stores["a"].fails = False
    publish(nodes.make("b"), build_entry("h"))
    wait_until(lambda: server.find("h") is not None)
    assert caplog.text.count("ZeroDivisionError: ") == 1


def test_a_node_that_slept_for_days_reads_everything_again(nodes: Nodes) -> None:
    server, provisioner = nodes.serve("a"), nodes.make("b")
    publish(provisioner, build_entry("g"))
    publish(provisioner, build_entry("h"))
    wait_until(lambda: server.find("h") is not None)
    nodes.stores["a"].is_away = True
    remove(provisioner, build_entry("g"))
    # Its mark that the address is gone was deleted meanwhile.
    nodes.stores["b"].write([lambda found: found.delete(ADDRESS.name, "g")])
    nodes.clock.now += 2 * 86_400
    nodes.stores["a"].is_away = False
    server.look()
    assert server.find("g") is None
    assert server.find("h") == build_entry("h")


@pytest.mark.parametrize("text", ["", "..", "a/b", "A", "a.b", "a\n", "\0", "é", "g|1"])
def test_other_texts_are_no_ids(text: str, nodes: Nodes) -> None:
    server, provisioner = nodes.serve("a"), nodes.make("b")
    publish(provisioner, build_entry())
    assert server.find(text) is provisioner.find(text) is None
    with pytest.raises(InvalidArgument):
        server.build_directory(text, "1")


def test_a_damaged_entry_is_said_and_the_others_are_served(nodes: Nodes) -> None:
    server, provisioner = nodes.serve("a"), nodes.make("b")
    publish(provisioner, build_entry("g"))
    publish(provisioner, build_entry("h"))

    def spoil(found):  # type: ignore[no-untyped-def]  # a write function
        record = found.read(ADDRESS.name, "g")
        found.update(replace(record, body=record.body.replace(b'"format": 1', b'"format": 2')))

    (outcome,) = nodes.stores["b"].write([spoil])
    assert outcome.error is None
    server.look()
    for catalog in (server, provisioner):
        with pytest.raises(StorageDamaged, match="format 2"):
            catalog.find("g")
        assert [entry.resource_id for entry in catalog.list_served()] == ["h"]


# --- fences -------------------------------------------------------------------------------------


def test_a_late_attempt_changes_nothing_at_any_step(nodes: Nodes) -> None:
    early, late = nodes.make("a"), nodes.make("b")
    publish(early, build_entry(fence=1))
    with late.changing("g", "1", 1) as change:
        with early.changing("g", "1", 2):
            pass
        for step in (
            lambda: change.begin(build_entry(fence=1)),
            lambda: change.serve(build_entry(fence=1)),
            change.withdraw,
            change.check,
            change.forget,
        ):
            with pytest.raises(FenceLost):
                step()
    with pytest.raises(FenceLost), late.changing("g", "1", 1):
        raise AssertionError("it is not let in")
    assert early.find("g") == build_entry(fence=1)


def test_an_attempt_cannot_serve_what_another_removed(nodes: Nodes) -> None:
    one, other = nodes.make("a"), nodes.make("b")
    with one.changing("g", "1", 1) as change:
        change.begin(build_entry())
        remove(other, build_entry(fence=2))
        with pytest.raises(FenceLost):
            change.check()
        with pytest.raises(FenceLost):
            change.serve(build_entry())
    assert one.find("g") is None
    assert one.list_records() == []


def test_an_address_is_not_taken_from_another_incarnation(nodes: Nodes) -> None:
    catalog = nodes.make("a")
    publish(catalog, build_entry(incarnation="2"))
    late = build_entry(incarnation="1", fence=99)
    with catalog.changing("g", "1", 99) as change:
        change.begin(late)
        with pytest.raises(StorageBusy):
            change.serve(late)
        change.withdraw()  # it is not this one's to withdraw
        change.forget()
    assert catalog.find("g") == build_entry(incarnation="2")
    assert catalog.list_records() == [("g", "2")]


def test_an_operator_changes_a_graph_with_its_present_fence(nodes: Nodes) -> None:
    catalog = nodes.make("a")
    publish(catalog, build_entry(fence=5))
    with catalog.changing_served("g") as change:
        assert change.served is not None
        change.serve(replace(change.served, availability=Availability.OFFLINE))
    found = catalog.find("g")
    assert found is not None
    assert found.availability is Availability.OFFLINE
    with pytest.raises(InvalidArgument), catalog.changing_served("h"):
        raise AssertionError("it is not served")


# --- opening and removal ------------------------------------------------------------------------


class NotedStore(MemoryStore):
    """A store that tells what was done with it, and what is to happen while it is opened."""

    def __init__(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        super().__init__()
        self.done: list[str] = []
        self._meanwhile = meanwhile

    def open(self) -> None:
        self._meanwhile()
        self.done.append("open")
        super().open()

    def close(self) -> None:
        self.done.append("close")
        super().close()

    def remove(self, timeout: float) -> None:
        self.done.append("remove")
        super().remove(timeout)


def test_a_graph_is_opened_only_while_it_is_served(nodes: Nodes) -> None:
    server, provisioner, entry = nodes.serve("a"), nodes.make("b"), build_entry()
    store = NotedStore()
    assert not open_kept(server, entry, store)
    publish(provisioner, entry)
    assert open_kept(server, entry, store)
    publish(provisioner, replace(entry, fence=2, availability=Availability.OFFLINE))
    assert not open_kept(server, entry, store)
    assert store.done == ["open"]


def test_what_a_late_opener_creates_again_is_removed(nodes: Nodes) -> None:
    server, provisioner, entry = nodes.serve("a"), nodes.make("b"), build_entry()
    publish(provisioner, entry)
    store = NotedStore(lambda: remove(provisioner, entry))
    assert not open_kept(server, entry, store)
    assert store.done == ["open", "close", "remove"]


def test_a_removal_sees_who_has_the_graph_open_until_he_is_dead(nodes: Nodes) -> None:
    server, provisioner, entry = nodes.serve("a"), nodes.make("b"), build_entry()
    publish(provisioner, entry)
    assert open_kept(server, entry, NotedStore())

    def is_used() -> bool:
        with provisioner.changing("g", "1", 1) as change:
            return change.is_used()

    assert is_used()
    mark = server.hold_mark(entry)
    mark.close(has_work=False)
    assert not is_used()
    assert open_kept(server, entry, NotedStore())
    assert is_used()
    nodes.stores["a"].is_away = True  # it gives no sign of life any more
    nodes.clock.now += LEASE_SECONDS + 1
    assert not is_used()


def test_work_of_dead_processes_is_left_to_those_who_live(nodes: Nodes) -> None:
    dying, living = nodes.serve("a"), nodes.serve("b")
    for name in ("g", "h", "i"):
        publish(living, build_entry(name))
        assert open_kept(dying, build_entry(name), NotedStore())
    dying.hold_mark(build_entry("h")).close(has_work=False)
    assert open_kept(living, build_entry("i"), NotedStore())
    assert living.list_left() == []
    dying.close()
    assert [entry.resource_id for entry in living.list_left()] == ["g"]
    living.hold_mark(build_entry("i")).close(has_work=True)
    assert [entry.resource_id for entry in living.list_left()] == ["g", "i"]
    for name in ("g", "i"):
        assert open_kept(living, build_entry(name), NotedStore())
        living.hold_mark(build_entry(name)).close(has_work=False)
    assert living.list_left() == []


def test_a_silent_process_is_noticed(nodes: Nodes) -> None:
    dying, living = nodes.serve("a"), nodes.serve("b")
    publish(living, build_entry())
    assert open_kept(dying, build_entry(), NotedStore())
    nodes.stores["a"].is_away = True
    living._beat()
    assert not living.has_deaths()
    nodes.clock.now += LEASE_SECONDS + 1
    wait_until(living.has_deaths)
    assert [entry.resource_id for entry in living.list_left()] == ["g"]
    assert not living.has_deaths()


def test_tidying_removes_files_of_graphs_that_are_gone(nodes: Nodes) -> None:
    server, provisioner = nodes.serve("a"), nodes.make("b")
    for name in ("g", "h"):
        publish(provisioner, build_entry(name))
        assert open_kept(server, build_entry(name), NotedStore())
    remove(provisioner, build_entry("g"))
    directories = [server.build_directory(name, "1") for name in ("g", "h")]
    assert [directory.exists() for directory in directories] == [True, True]
    server.tidy()
    assert [directory.exists() for directory in directories] == [False, True]


# --- what machines count ------------------------------------------------------------------------


def build_statistics(operations: int, day: str = "2026-01-01") -> dict[str, object]:
    counts = {"count": operations, "refused": 0, "failed": 0, "seconds": 0.5}
    return {
        "since": f"{day}T00:00:00Z",
        "totals": {"operations": operations, "refused": 0, "failed": 0, "query_charge": 1.5},
        "days": {day: {"query_charge": 1.5, "operations": {"Get": counts}}},
    }


def test_statistics_are_those_of_all_machines_and_go_with_the_graph(nodes: Nodes) -> None:
    one, same, other, entry = nodes.serve("a"), nodes.make("a"), nodes.serve("b"), build_entry()
    publish(one, entry)
    one.put_statistics("g.1", build_statistics(3))
    other.put_statistics("g.1", build_statistics(4))
    other.put_statistics("g.1", build_statistics(5, "2025-12-31"))
    same.put_statistics("g.1", build_statistics(2))  # another worker had older numbers
    read = read_all_statistics(one.build_directory("g", "1"), one)
    assert read["totals"]["operations"] == 5  # its own are in its file, which is empty here
    assert read["since"] == "2025-12-31T00:00:00Z"
    with_both = read_all_statistics(nodes.make("c").build_directory("g", "1"), nodes.make("c"))
    assert with_both["totals"] == {
        "operations": 8,
        "refused": 0,
        "failed": 0,
        "query_charge": 3.0,
    }
    assert {day: one["operations"]["Get"]["count"] for day, one in with_both["days"].items()} == {
        "2026-01-01": 3,
        "2025-12-31": 5,
    }
    remove(one, entry)
    other.put_statistics("g.1", build_statistics(9))
    assert one.list_statistics("g.1") == []


def test_operations_of_other_machines_are_counted_in_the_window_that_is_open(nodes: Nodes) -> None:
    one, other, third = (nodes.serve(name) for name in "abc")
    publish(one, build_entry())
    assert one.exchange_counts({"g.1": {60: (600, 3)}}) == {"g.1": {}}
    assert other.exchange_counts({"g.1": {60: (600, 4)}}) == {"g.1": {60: (600, 3)}}
    third.exchange_counts({"g.1": {60: (540, 99)}})  # an earlier minute
    assert one.exchange_counts({"g.1": {60: (600, 3)}}) == {"g.1": {60: (600, 4)}}
    assert third.exchange_counts({"g.1": {60: (600, 1)}}) == {"g.1": {60: (600, 7)}}
    assert other.exchange_counts({"g.1": {60: (600, 4)}}) == {"g.1": {60: (600, 4)}}


def test_a_quota_counts_what_other_machines_told(tmp_path: Path) -> None:
    counter = SharedCounter(tmp_path / "operations", 1)
    assert counter.take(60, 600, 5) == 0
    assert counter.read_own()[60] == (600, 1)
    counter.others = {60: (600, 3)}
    assert counter.take(60, 600, 5) == 4
    assert counter.take(60, 600, 5) == 5  # refused
    assert counter.read_own()[60] == (600, 2)
    assert counter.read(60, 600) == 5
    assert counter.take(60, 660, 5) == 0  # another minute
    counter.close()


def test_after_a_fail_over_that_lost_the_last_changes_all_is_read_again(nodes: Nodes) -> None:
    server, provisioner = nodes.serve("a"), nodes.make("b")
    publish(provisioner, build_entry("g"))
    kept = nodes.records.tables, nodes.records._version
    for number in range(5):
        publish(provisioner, build_entry(f"lost{number}"))
    wait_until(lambda: server.find("lost4"))
    nodes.records.tables, nodes.records._version = kept
    publish(provisioner, build_entry("h"))
    nodes.clock.now += LEASE_SECONDS / 2  # the next sign of life
    wait_until(lambda: server.find("h"))
    assert server.find("g") is not None
    assert server.find("lost4") is None


def test_tidying_keeps_the_files_of_a_graph_that_is_made_meanwhile(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = nodes.serve("a")
    left = catalog.build_directory("old", "1")
    left.mkdir(parents=True)
    entry = build_entry()
    real = catalog.read

    def read(function: Callable[..., object]) -> object:
        found = real(function)
        monkeypatch.undo()
        publish(catalog, entry)
        wait_until(lambda: catalog.find("g"))
        with catalog.keeping(entry):
            pass
        return found

    monkeypatch.setattr(catalog, "read", read)
    catalog.tidy()
    assert catalog.build_directory("g", "1").is_dir()
    assert not left.exists()
