"""Rows as Parquet files: what readers see, what a crash leaves, what wrong settings are told."""

from __future__ import annotations

import asyncio
import errno
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import fsspec
import pytest
from pyarrow import parquet
from pydantic import ValidationError

from twinframe.hooks.event_sinks.base import DeliveryFailed
from twinframe.hooks.event_sinks.tables import (
    PROPERTY_EVENTS,
    RELATIONSHIP_EVENTS,
    TABLES,
    TWIN_EVENTS,
    TableRow,
)
from twinframe_events_parquet.plugin import twinframe_event_sink, twinframe_settings
from twinframe_events_parquet.settings import ParquetSettings
from twinframe_events_parquet.sink import ParquetSink

TIME = "2026-03-01T23:59:59.1234567Z"
NEXT = "2026-03-02T00:00:00.0000000Z"
ROOM = "dtmi:example:Room;1"


def build_sink(location: Any, **more: Any) -> ParquetSink:
    return ParquetSink(ParquetSettings.model_validate({"Location": str(location), **more}))


def build_property(
    key: str, value: str | None, time: str = TIME, source_time: str | None = None
) -> TableRow:
    action = "Delete" if value is None else "Update"
    values = (time, source_time, "host", "room1", ROOM, key, value, "", "", action)
    return TableRow(PROPERTY_EVENTS, values)


LIFECYCLE = (
    TableRow(TWIN_EVENTS, ("room1", "Create", TIME, "host", ROOM)),
    TableRow(RELATIONSHIP_EVENTS, ("r1", "has", "Create", NEXT, "host", "room1", "lamp")),
)


def write(sink: ParquetSink, name: str, *rows: TableRow) -> None:
    async def run() -> None:
        await sink.open()
        await sink.write(name, rows)
        await sink.close()

    asyncio.run(run())


def list_files(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def test_each_table_and_day_is_a_file_with_the_columns_of_the_table(tmp_path: Path) -> None:
    write(
        build_sink(tmp_path),
        "n",
        *LIFECYCLE,
        build_property("t", "1"),
        build_property("t", "2", NEXT),
    )
    assert list_files(tmp_path) == [
        "AdtPropertyEvents/day=2026-03-01/n.parquet",
        "AdtPropertyEvents/day=2026-03-02/n.parquet",
        "AdtRelationshipLifeCycleEvents/day=2026-03-02/n.parquet",
        "AdtTwinLifeCycleEvents/day=2026-03-01/n.parquet",
    ]
    for table in TABLES:
        for path in (tmp_path / table.name).rglob("*.parquet"):
            read = parquet.ParquetFile(path)
            assert read.schema_arrow.names == [name for name, _ in table.columns]
            assert read.metadata.row_group(0).column(0).compression == "ZSTD"
    (row,) = parquet.ParquetFile(tmp_path / list_files(tmp_path)[3]).read().to_pylist()
    assert row == {
        "TwinId": "room1",
        "Action": "Create",
        "TimeStamp": datetime(2026, 3, 1, 23, 59, 59, 123456, UTC),
        "ServiceId": "host",
        "ModelId": ROOM,
    }


def test_duckdb_reads_values_by_their_kind_and_times_as_instants(tmp_path: Path) -> None:
    rows = [
        build_property("number", "22.5", source_time="2026-03-01T14:05:00+02:00"),
        build_property("text", '"a \\"b\\" \u00fc"', source_time="2026-02-30T00:00:00Z"),
        build_property("object", '{"roll":20,"yaw":[45]}', source_time="0001-01-01T00:00:00+14:00"),
        build_property("gone", None),
        build_property("whole", "9007199254740993"),
    ]
    write(build_sink(tmp_path), "n", *rows)
    table = f"'{tmp_path}/AdtPropertyEvents/**/*.parquet'"
    connection = duckdb.connect()
    found = connection.execute(
        f"SELECT Key, Value->>'$', epoch_us(TimeStamp), epoch_ms(SourceTimeStamp), Action "
        f"FROM {table}"
    ).fetchall()
    stored = 1772409599123456
    assert found == [
        ("number", "22.5", stored, 1772366700000, "Update"),
        ("text", 'a "b" \u00fc', stored, None, "Update"),
        ("object", '{"roll":20,"yaw":[45]}', stored, -62135647200000, "Update"),
        ("gone", None, stored, None, "Delete"),
        ("whole", "9007199254740993", stored, None, "Update"),
    ]
    sums = f"SELECT Value::DOUBLE + 1 FROM {table} WHERE Key = 'number'"
    assert connection.execute(sums).fetchall() == [(23.5,)]
    yaw = f"SELECT Value->'yaw'->>0 FROM {table} WHERE Key = 'object' AND RelationshipId = ''"
    assert connection.execute(yaw).fetchall() == [("45",)]
    types = dict(row[:2] for row in connection.execute(f"DESCRIBE FROM {table}").fetchall())
    assert (types["TimeStamp"], types["Value"]) == ("TIMESTAMP WITH TIME ZONE", "JSON")


def test_rows_under_a_name_that_was_written_take_the_place_of_the_former(tmp_path: Path) -> None:
    sink = build_sink(tmp_path)
    write(sink, "n", build_property("t", "1"))
    write(sink, "n", build_property("t", "1"), build_property("u", "2"))
    write(sink, "o", build_property("v", "3"))
    query = f"SELECT Key FROM '{tmp_path}/AdtPropertyEvents/**/*.parquet' ORDER BY Key"
    assert duckdb.connect().execute(query).fetchall() == [("t",), ("u",), ("v",)]


def test_a_reader_never_sees_a_part_of_a_file(tmp_path: Path, monkeypatch: Any) -> None:
    sink = build_sink(tmp_path)
    write(sink, "n", build_property("t", "1"))

    def die(*_paths: object) -> None:
        raise OSError(28, os.strerror(28))

    with monkeypatch.context() as patched:
        patched.setattr("twinframe_events_parquet.files.rename_durably", die)
        with pytest.raises(DeliveryFailed, match="No space left"):
            write(sink, "o", build_property("t", "2"))
    assert [name for name in list_files(tmp_path) if name.endswith(".parquet")] == [
        "AdtPropertyEvents/day=2026-03-01/n.parquet"
    ]
    write(sink, "o", build_property("t", "2"))  # and the draft is gone
    assert len(list_files(tmp_path)) == 2


def test_a_storage_of_fsspec_takes_files_too() -> None:
    write(build_sink("memory://bucket/twins"), "n", build_property("t", "1"), *LIFECYCLE)
    files = fsspec.filesystem("memory")
    path = "/bucket/twins/AdtPropertyEvents/day=2026-03-01/n.parquet"
    assert parquet.read_table(path, filesystem=files, partitioning=None).num_rows == 1
    assert len(files.find("/bucket/twins")) == 3


def test_a_storage_that_shows_half_files_gets_them_under_another_name(tmp_path: Path) -> None:
    # SPEC: fsspec: «local» is such a storage; as a directory it would be written to otherwise.
    write(build_sink(f"local://{tmp_path}/twins"), "n", build_property("t", "1"))
    assert list_files(tmp_path) == ["twins/AdtPropertyEvents/day=2026-03-01/n.parquet"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_that_cannot_be_written_is_named_to_the_operator_alone(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    check_refused(tmp_path / "tables", "Permission denied")


def test_a_location_that_is_a_file_is_named_to_the_operator_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    check_refused(tmp_path / "file" / "tables", "Not a directory")


@pytest.mark.parametrize(
    ("error", "lasts"),
    [
        (PermissionError(13, "Permission denied"), True),
        (FileNotFoundError("The specified bucket does not exist"), True),
        (OSError(errno.EROFS, "Read-only file system"), True),
        (ValueError("Protocol not known: s4"), True),
        (NotImplementedError("read-only"), True),
        (OSError(errno.ENOSPC, "No space left on device"), False),
        (ConnectionResetError(104, "Connection reset by peer"), False),
        (TimeoutError("timed out"), False),
        (RuntimeError("SlowDown"), False),
    ],
)
def test_what_no_later_attempt_changes_is_said(
    tmp_path: Path, monkeypatch: Any, error: Exception, lasts: bool
) -> None:
    sink = build_sink(tmp_path)

    def fail(*_: object) -> None:
        raise error

    def wrap(*_: object) -> None:
        try:
            fail()
        except Exception as cause:
            raise RuntimeError("of the library") from cause

    for put in (fail, wrap):
        monkeypatch.setattr("twinframe_events_parquet.files.LocalFiles.put", put)
        with pytest.raises(DeliveryFailed) as caught:
            write(sink, "n", build_property("t", "1"))
        for text in (caught.value.message, caught.value.public):
            assert ("until somebody changes" in text) is lasts


def check_refused(location: Path, reason: str) -> None:
    with pytest.raises(DeliveryFailed, match=reason) as caught:
        asyncio.run(build_sink(location).open())
    assert str(location) in caught.value.message
    assert str(location) not in caught.value.public


def test_a_library_that_is_missing_is_named_with_what_installs_it(monkeypatch: Any) -> None:
    monkeypatch.setitem(__import__("sys").modules, "s3fs", None)
    with pytest.raises(DeliveryFailed, match=r"pip install 'twinframe\[s3\]'"):
        asyncio.run(build_sink("s3://bucket/twins").open())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "Field required"),
        ({"Location": ""}, "at least 1"),
        ({"Location": "s33://bucket"}, "did you mean s3://"),
        ({"Location": "https://a.example/twins"}, "no kind of storage that can be written to"),
        ({"Location": "sftp://me:secret@host/twins"}, "must not have a user or password"),
        ({"Location": "file://var/tables"}, "three slashes"),
        ({"Location": "/t", "Rows": 0}, "greater than or equal to 1"),
        ({"Location": "/t", "Seconds": 0}, "greater than 0"),
        ({"Location": "/t", "Path": "x"}, "Extra inputs"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        ParquetSettings.model_validate(settings)


def test_the_plugin_gives_a_sink_for_its_settings() -> None:
    settings = twinframe_settings().model_validate({"Location": "/t", "Rows": 9, "Seconds": 0.5})
    sink = twinframe_event_sink(settings)
    assert isinstance(sink, ParquetSink)
    assert (sink.rows, sink.seconds) == (9, 0.5)
