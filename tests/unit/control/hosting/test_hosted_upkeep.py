"""Backups that come by themselves, what is forgotten, and journals that lose nothing."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson
import pytest

from tests.unit.control.hosting.hosting_app import bring_up, build_graph, build_hosting
from tests.waiting import join, start
from twinframe.control.hosting.backups import (
    find_backup,
    is_due,
    list_backups,
    make_backup,
    prune_backups,
)
from twinframe.control.hosting.catalog import HostedSettings
from twinframe.control.hosting.catalogs import build_catalog
from twinframe.control.hosting.journal import (
    Change,
    GraphJournal,
    prepare_journal,
    prune_journal,
    read_lines,
    read_statistics,
)
from twinframe.control.hosting.service import LocalGraphHost
from twinframe.control.hosting.upkeep import HostedUpkeep
from twinframe.errors import InvalidArgument

DAY = 86400.0


def name_of(age: timedelta) -> str:
    return (datetime.now(UTC) - age).strftime("%Y%m%dT%H%M%S.%fZ") + ".backup"


def put_backups(directory: Path, *ages: timedelta) -> None:
    (directory / "backups").mkdir(exist_ok=True)
    for age in ages:
        (directory / "backups" / name_of(age)).write_bytes(b"x")


def test_only_graphs_that_want_backups_get_them_and_only_when_they_are_due(tmp_path: Path) -> None:
    installation = build_hosting(tmp_path)
    host = LocalGraphHost(installation)
    catalog = build_catalog(installation)
    asyncio.run(bring_up(host, build_graph("with", backup_retention_days=2)))
    asyncio.run(bring_up(host, build_graph("without")))
    upkeep = HostedUpkeep(installation, catalog)
    for _ in range(3):
        upkeep.look_after_all()
    assert len(list_backups(catalog.build_directory("with", "1"))) == 1
    assert list_backups(catalog.build_directory("without", "1")) == []
    asyncio.run(upkeep.stop())


def test_one_process_of_several_looks_after_the_graphs_and_another_takes_over(
    tmp_path: Path,
) -> None:
    installation = build_hosting(tmp_path, BackupInterval=0.000001)
    host = LocalGraphHost(installation)
    catalog = build_catalog(installation)
    asyncio.run(bring_up(host, build_graph("a", backup_retention_days=2)))
    directory = catalog.build_directory("a", "1")
    first, second = (HostedUpkeep(installation, catalog) for _ in range(2))
    first.look_after_all()
    second.look_after_all()
    assert len(list_backups(directory)) == 1
    asyncio.run(first.stop())
    second.look_after_all()
    assert len(list_backups(directory)) == 2
    asyncio.run(second.stop())


def test_upkeep_runs_beside_the_service(tmp_path: Path) -> None:
    installation = build_hosting(tmp_path)
    host = LocalGraphHost(installation)
    catalog = build_catalog(installation)

    async def run() -> None:
        await bring_up(host, build_graph("a", backup_retention_days=1))
        upkeep = HostedUpkeep(installation, catalog)
        await upkeep.start()
        async with asyncio.timeout(120):
            while not list_backups(catalog.build_directory("a", "1")):  # noqa: ASYNC110  (a file)
                await asyncio.sleep(0.01)
        await upkeep.stop()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("days", "ages", "left"),
    [
        (3, (0.1, 1, 2.9, 3.1, 9), 3),
        (3, (4, 5), 1),  # the newest stays
        (0, (0.1, 2), 1),  # made by hand today
        (0, (2, 3), 0),
        (3, (), 0),
    ],
)
def test_backups_are_kept_as_long_as_they_have_to_be(
    days: int, ages: tuple[float, ...], left: int, tmp_path: Path
) -> None:
    put_backups(tmp_path, *(timedelta(days=age) for age in ages))
    newest = list_backups(tmp_path)[-1:]
    prune_backups(tmp_path, days)
    assert len(list_backups(tmp_path)) == left
    assert not left or list_backups(tmp_path)[-1:] == newest


def test_a_backup_is_due_when_the_newest_is_old(tmp_path: Path) -> None:
    assert is_due(tmp_path, 1, DAY)
    assert not is_due(tmp_path, 0, DAY)
    put_backups(tmp_path, timedelta(hours=25), timedelta(days=9))
    assert is_due(tmp_path, 1, DAY)
    put_backups(tmp_path, timedelta(hours=23))
    assert not is_due(tmp_path, 1, DAY)


def test_a_backup_from_the_future_holds_up_no_others(tmp_path: Path) -> None:
    put_backups(tmp_path, timedelta(days=-400), timedelta(hours=25))
    assert is_due(tmp_path, 1, DAY)
    put_backups(tmp_path, timedelta(hours=1))
    assert not is_due(tmp_path, 1, DAY)


def test_a_backup_of_a_graph_that_is_served_no_more_is_refused(tmp_path: Path) -> None:
    installation = build_hosting(tmp_path)
    host = LocalGraphHost(installation)
    catalog = build_catalog(installation)
    graph = build_graph("a")
    asyncio.run(bring_up(host, graph))
    entry = catalog.find("a")
    assert entry is not None
    asyncio.run(host.unpublish(graph.name, 1))
    asyncio.run(host.remove(graph.name, 1))
    with pytest.raises(InvalidArgument):
        make_backup(installation, catalog, entry, history=True)
    assert not list((tmp_path / "data").glob("a_*"))


def test_an_unknown_backup_is_named_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="There are: none"):
        find_backup(tmp_path, "x")
    put_backups(tmp_path, timedelta(days=1))
    (known,) = list_backups(tmp_path)
    assert find_backup(tmp_path, known.stem) == find_backup(tmp_path, known.name) == known
    assert find_backup(tmp_path, str(known)) == known
    with pytest.raises(InvalidArgument, match=f"Did you mean {known.stem}"):
        find_backup(tmp_path, known.stem[:-2])


# --- journals ---------------------------------------------------------------------------------


def build_change(number: int, subject: str = "s") -> Change:
    return Change(0.0, subject, "token", "Op", "PUT", f"/x/{number}", 200, "id", "127.0.0.1")


def test_counts_of_many_workers_add_up(tmp_path: Path) -> None:
    settings = HostedSettings(analytics=True)
    journals = [GraphJournal(tmp_path, settings) for _ in range(4)]

    def apply(journal: GraphJournal) -> None:
        for number in range(200):
            status = (200, 404, 503)[number % 3]
            journal.note_answer("Op", status, 0.5, 2.0)
            if number % 10 == 0:
                journal.write(journal.take())
        journal.close()

    threads = [start(apply, journal) for journal in journals]
    join(*threads)
    document = read_statistics(tmp_path)
    assert document["totals"] == {
        "operations": 800,
        "refused": 268,
        "failed": 264,
        "query_charge": 1600.0,
    }
    (day,) = document["days"].values()
    assert day["operations"]["Op"] == {
        "count": 800,
        "refused": 268,
        "failed": 264,
        "seconds": 400.0,
    }


def test_totals_are_kept_for_the_bill_but_shown_to_those_who_want_them(tmp_path: Path) -> None:
    journal = GraphJournal(tmp_path, HostedSettings(analytics=False))
    journal.note_answer("Op", 200, 0.1, 0.0)
    assert asyncio.run(journal.read_statistics()) is None
    journal.close()
    document = read_statistics(tmp_path)
    assert (document["totals"]["operations"], document["days"]) == (1, {})


def test_a_journal_does_not_bring_a_removed_graph_back(tmp_path: Path) -> None:
    directory = tmp_path / "gone"
    journal = GraphJournal(directory, HostedSettings(analytics=True, audit_logging=True))
    journal.note_answer("Op", 200, 0.1, 0.0)
    journal.note_change(build_change(1))
    journal.close()
    assert not directory.exists()


def test_lines_of_many_workers_are_whole_and_read_page_by_page(tmp_path: Path) -> None:
    prepare_journal(tmp_path)
    journals = [GraphJournal(tmp_path, HostedSettings(audit_logging=True)) for _ in range(4)]
    for number in range(100):
        journals[number % 4].note_change(build_change(number, '\ud800\n"' * 3))
    for journal in journals:
        journal.close()
    (path,) = (tmp_path / "audit").iterdir()
    assert path.name == "1970-01-01.jsonl"
    found: list[bytes] = []
    offset: int | None = 0
    while offset is not None:
        lines, offset = read_lines(path, offset, 7)
        assert lines
        found += lines
    assert [orjson.loads(line)["path"] for line in found] == [f"/x/{n}" for n in range(100)]


def test_a_page_begins_at_a_line_wherever_it_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b'{"a":1}\n{"b":2}\n{"half')
    assert read_lines(path, 0, 9) == ([b'{"a":1}', b'{"b":2}'], None)
    assert read_lines(path, 8, 9) == ([b'{"b":2}'], None)
    for offset in (1, 5, 7):
        assert read_lines(path, offset, 9) == ([b'{"b":2}'], None)
    assert read_lines(path, 9, 9) == ([], None)
    assert read_lines(path, 10**15, 9) == ([], None)
    assert read_lines(tmp_path / "none", 0, 9) == ([], None)


def test_old_days_are_forgotten(tmp_path: Path) -> None:
    prepare_journal(tmp_path)
    today = datetime.now(UTC)
    for age in (0, 5, 50):
        day = (today - timedelta(days=age)).strftime("%Y-%m-%d")
        (tmp_path / "audit" / f"{day}.jsonl").write_bytes(b"{}\n")
    document = read_statistics(tmp_path)
    document["days"] = {"2001-01-01": {}, today.strftime("%Y-%m-%d"): {}}
    (tmp_path / "statistics.json").write_bytes(orjson.dumps(document))
    prune_journal(tmp_path, 10, 10)
    assert len(list((tmp_path / "audit").iterdir())) == 2
    assert list(read_statistics(tmp_path)["days"]) == [today.strftime("%Y-%m-%d")]
