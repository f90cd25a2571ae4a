"""`twinframe export` and `twinframe import`: files, pipes, exit codes, logs."""

from __future__ import annotations

import asyncio
import gzip
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner, Result

from twinframe.cli.main import main
from twinframe.hooks.installation import load_installation
from twinframe.service.opening import open_graph

MODEL = {
    "@id": "dtmi:com:example:Thing;1",
    "@type": "Interface",
    "@context": "dtmi:dtdl:context;3",
    "contents": [
        {"@type": "Property", "name": "value", "schema": "double"},
        {"@type": "Relationship", "name": "next"},
    ],
}


def build_lines(*more: Any) -> bytes:
    """A small file; `more` are further lines of relationships."""
    lines = [
        {"Section": "Header"},
        {"fileVersion": "1.0.0"},
        {"Section": "Models"},
        MODEL,
        {"Section": "Twins"},
        {"$dtId": "a", "$metadata": {"$model": MODEL["@id"]}, "value": 1.5},
        {"$dtId": "b", "$metadata": {"$model": MODEL["@id"]}},
        {"Section": "Relationships"},
        {"$dtId": "a", "$relationshipId": "r", "$targetId": "b", "$relationshipName": "next"},
        *more,
    ]
    return b"".join(orjson.dumps(line) + b"\n" for line in lines)


class Shell:
    """Commands over a graph of their own."""

    def __init__(self, folder: Path) -> None:
        pytest.importorskip(
            "twinframe_storage_sqlite", reason="pip install twinframe-storage-sqlite"
        )
        self.folder = folder
        self._environment = {"Storage__Sqlite__Directory": str(folder / "data")}

    def run(self, *arguments: str, stdin: bytes | None = None, **settings: str) -> Result:
        environment = {**self._environment, **settings}
        return CliRunner().invoke(main, arguments, input=stdin, env=environment)

    def count_events(self, monkeypatch: pytest.MonkeyPatch) -> int:
        """Events that are kept, up to 10,000."""
        for name, value in self._environment.items():
            monkeypatch.setenv(name, value)

        async def count() -> int:
            async with open_graph(load_installation(None)) as graph:
                return (await graph.event_routes.try_filter("true", 1)).examined

        return asyncio.run(count())


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def test_what_is_imported_is_exported_and_the_other_way_round(shell: Shell, tmp_path: Path) -> None:
    done = shell.run("import", "-", stdin=build_lines())
    assert done.exit_code == 0
    assert "Imported 1 models, 2 twins, 1 relationships, up to line 9" in done.output
    out, packed = tmp_path / "out.ndjson", tmp_path / "out.ndjson.gz"
    assert shell.run("export", str(out)).exit_code == 0
    assert shell.run("export", str(packed)).exit_code == 0
    assert gzip.decompress(packed.read_bytes()) == out.read_bytes()
    first = packed.read_bytes()
    assert shell.run("export", "--gzip", str(packed)).exit_code == 0
    assert packed.read_bytes() == first
    assert shell.run("export").stdout_bytes == out.read_bytes()
    other = Shell(tmp_path / "other")
    assert other.run("import", str(packed)).exit_code == 0
    assert other.run("export").stdout_bytes == out.read_bytes()
    assert b"$etag" not in other.run("export", "--plain").stdout_bytes
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "data",
        "other",
        "out.ndjson",
        "out.ndjson.gz",
    ]


def test_an_import_leaves_no_more_events_behind_than_the_service_keeps(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    twins = [{"$dtId": f"t{at}", "$metadata": {"$model": MODEL["@id"]}} for at in range(5000)]
    lines = build_lines().replace(
        b'{"Section":"Relationships"}\n',
        b"".join(orjson.dumps(twin) + b"\n" for twin in twins) + b'{"Section":"Relationships"}\n',
    )
    names = ("Events__KeepBytes", "Events__UndeliveredBytes", "History__KeepBytes")
    kept = dict.fromkeys(names, "200000")
    done = shell.run("import", "-", stdin=lines, **kept)
    assert (done.exit_code, "5002 twins" in done.output) == (0, True)
    # A stretch that is not full yet (1,000) is not measured; an event has more than 200 bytes.
    assert 0 < shell.count_events(monkeypatch) <= 2000


def test_a_graph_is_exported_as_rdf_too(shell: Shell, tmp_path: Path) -> None:
    pytest.importorskip("twinframe_storage_rdf", reason="pip install twinframe-storage-rdf")
    assert shell.run("import", "-", stdin=build_lines()).exit_code == 0
    plain = shell.run("export", "--format", "ntriples")
    assert plain.exit_code == 0
    assert b"<urn:twinframe:twin:a> <urn:twinframe:edge:next> <urn:twinframe:twin:b> ." in (
        plain.stdout_bytes
    )
    packed = tmp_path / "out.nt.gz"
    assert shell.run("export", "--format", "ntriples", str(packed)).exit_code == 0
    assert gzip.decompress(packed.read_bytes()) == plain.stdout_bytes
    refused = shell.run("export", "--format", "turtle", "--plain")
    assert (refused.exit_code, "for ndjson alone" in refused.output) == (2, True)


def test_refused_lines_are_listed_logged_and_told_by_the_exit_code(
    shell: Shell, tmp_path: Path
) -> None:
    bad = [{"$dtId": "a", "$relationshipId": f"x{at}"} for at in range(25)]
    log = tmp_path / "log.ndjson"
    done = shell.run("import", "-", "--log", str(log), stdin=build_lines(*bad))
    assert done.exit_code == 1
    start = "twinframe: line 10 (Relationships, x0 of a) and 24 like it, up to line 34: Could not"
    assert start in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert "25 lines were refused" in done.stdout
    lines = [orjson.loads(line) for line in log.read_bytes().splitlines()]
    assert sum(line["logType"] == "Error" for line in lines) == 25
    assert lines[-1]["details"]["status"] == "Failed"


def test_of_many_kinds_of_refused_lines_twenty_are_shown(shell: Shell) -> None:
    bad = [
        {"$dtId": "a", "$relationshipId": "x", "$targetId": "b", "$relationshipName": f"n{at}"}
        for at in range(25)
    ]
    done = shell.run("import", "-", stdin=build_lines(*bad))
    assert done.exit_code == 1
    assert "... and 5 more lines; --log has them all." in done.stderr
    assert len(done.stderr.splitlines()) == 21


def test_a_file_that_breaks_off_says_where_to_go_on(shell: Shell) -> None:
    text = build_lines()
    broken = b"\n".join(text.splitlines()[:7]) + b'\n{"Section":"Twin"}\n'
    done = shell.run("import", "-", stdin=broken)
    assert done.exit_code == 1
    assert "Line 8: There is no section 'Twin'; did you mean Twins?" in done.stderr
    assert "2 twins, 0 relationships, up to line 7" in done.stdout
    done = shell.run("import", "-", "--after-line", "7", stdin=text)
    assert done.exit_code == 0
    assert "0 models, 0 twins, 1 relationships" in done.stdout


def test_a_file_that_is_not_there_and_a_graph_that_is_not_hosted_are_named(shell: Shell) -> None:
    done = shell.run("import", "absent.ndjson")
    assert (done.exit_code, "absent.ndjson" in done.stderr) == (1, True)
    for command in ("import", "export"):
        done = shell.run(command, "-", "--graph", "absent", stdin=b"")
        assert done.exit_code == 1
        assert "No hosted graph 'absent'" in done.stderr


def test_an_export_that_fails_leaves_what_was_there(shell: Shell, tmp_path: Path) -> None:
    out = tmp_path / "absent" / "out"
    assert shell.run("export", str(out)).exit_code == 1
    assert not out.parent.exists()


def test_the_history_is_exported_to_files(shell: Shell, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pip install twinframe-events-parquet")
    assert shell.run("import", "-", stdin=build_lines()).exit_code == 0
    target = tmp_path / "tables"
    for _ in range(2):  # the second time it replaces its files
        done = shell.run("history", "export", "--to", str(target))
        assert (done.exit_code, "Exported 4 rows" in done.output) == (0, True), done.output
    files = sorted(
        str(path.relative_to(target).parent.parent) for path in target.rglob("*.parquet")
    )
    assert files == [
        "AdtPropertyEvents",
        "AdtRelationshipLifeCycleEvents",
        "AdtTwinLifeCycleEvents",
    ]
    (path,) = target.glob("AdtTwinLifeCycleEvents/*/*.parquet")
    assert parquet.ParquetFile(path).read(["TwinId"]).to_pydict() == {"TwinId": ["a", "b"]}
    late = shell.run("history", "export", "--to", str(target), "--from", "2999-01-01T00:00:00Z")
    assert (late.exit_code, "in the future" in late.output) == (1, True), late.output
    bad = shell.run("history", "export", "--to", "s33://bucket/tables")
    assert (bad.exit_code, "did you mean s3://" in bad.output) == (1, True), bad.output


def test_who_exports_history_without_the_plugin_is_told_what_to_install(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def find(group: str) -> Any:
        return () if group == "twinframe.event_sink" else entry_points(group=group)

    monkeypatch.setattr("twinframe.hooks.drivers.entry_points", find)
    missing = shell.run("history", "export", "--to", str(tmp_path / "tables"))
    assert missing.exit_code == 1
    assert "twinframe-events-parquet" in missing.output, missing.output
