"""The tables of points in the database of a graph."""

from __future__ import annotations

from typing import Final

VERSION: Final = 1
"""The version of the tables."""
PREFIX: Final = "point"
"""The beginning of their names."""

_TEXT: Final = 'text COLLATE "C" NOT NULL'
_HEAD: Final = "points bigint NOT NULL, earliest bigint NOT NULL, latest bigint NOT NULL"
_BODY: Final = "body bytea NOT NULL"

STATEMENTS: Final = (
    "CREATE TABLE @meta (key text PRIMARY KEY, value bigint NOT NULL)",
    # `forgotten` rises whenever ids of series become invalid; `bytes` are those of the blocks.
    f"INSERT INTO @meta VALUES ('version', {VERSION}), ('forgotten', 0), ('bytes', 0)",  # noqa: S608  (constants)
    (
        "CREATE TABLE @series (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "
        f"twin {_TEXT}, path {_TEXT})"
    ),
    # NOTE: without the path, which may be longer than an index takes; a twin has few.
    "CREATE INDEX ON @series (twin)",
    # What was written lately, as it came: rows with a greater id are newer. Ids may recur.
    (
        "CREATE TABLE @fresh (id bigint PRIMARY KEY, stamp bigint NOT NULL, made bigint NOT NULL, "
        f"first bigint NOT NULL, last bigint NOT NULL, {_HEAD}, {_BODY})"
    ),
    # Points of one series and one day (UTC). Greater ids are newer.
    (
        "CREATE TABLE @block (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "
        f"series bigint NOT NULL, day bigint NOT NULL, {_HEAD}, {_BODY})"
    ),
    "CREATE INDEX ON @block (series, day)",
    "CREATE INDEX ON @block (day)",
    # PERF: what is compressed already is not compressed again.
    "ALTER TABLE @fresh ALTER body SET STORAGE EXTERNAL",
    "ALTER TABLE @block ALTER body SET STORAGE EXTERNAL",
)
"""What creates them on PostgreSQL."""
