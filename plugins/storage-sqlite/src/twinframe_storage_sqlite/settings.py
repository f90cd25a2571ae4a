"""The settings section `Storage__Sqlite`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from twinframe.settings import Bytes, Seconds, Section
from twinframe.storage.indexes import PropertyName


class SqliteSettings(Section):
    """Where the files of the graphs lie, what an acknowledged write promises, what it may cost."""

    directory: str = Field(
        default="var",
        min_length=1,
        description="Directory of the files, one for each graph. It is created if it does not "
        "exist.",
    )
    durability: Literal["full", "relaxed"] = Field(
        default="full",
        description="`full`: an acknowledged write survives power loss. `relaxed`: it survives the "
        "end of the process, but power loss may take the last writes (never parts of one).",
    )
    checksums: bool = Field(
        default=True,
        description="Give each page of new files a checksum, so that flipped bits on the disk are "
        "found. Existing checksums are kept; a restored backup gets them.",
    )
    damaged_log: Literal["refuse", "accept"] = Field(
        default="refuse",
        description="What to do with a write-ahead log that lacks committed transactions. "
        "`refuse`: do not open the graph. `accept`: continue without them, once; a "
        "copy of the log is kept.",
    )
    ballast_bytes: Annotated[int, Field(ge=0)] = Field(
        default=0,
        description="Size of the file `ballast` in the directory. When the disk is full, remove "
        "this file to make room for deletions. 0: no such file.",
    )
    cache_bytes: Bytes = Field(
        default=16 * 1024 * 1024,
        description="Page cache of each connection; a worker holds about four.",
    )
    memory_bytes: Bytes = Field(
        default=64 * 1024 * 1024,
        description="Memory of SQLite in a process at which page caches stop growing; no statement "
        "gets more than three times as much.",
    )
    wal_limit_bytes: Bytes = Field(
        default=64 * 1024 * 1024,
        description="Size above which the write-ahead log is emptied and cut after a commit.",
    )
    checkpoint_pages: Annotated[int, Field(ge=100)] = Field(
        default=4000,
        description="Pages in the write-ahead log that start a checkpoint after a commit.",
    )
    turn_timeout: Seconds = Field(
        default=5.0,
        description="Seconds that a batch of writes waits for the writer lock, which processes "
        "take in turn.",
    )
    busy_timeout: Seconds = Field(
        default=5.0,
        description="Seconds that SQLite itself waits for a lock, if a process does not take the "
        "writer lock.",
    )
    long_statements: Annotated[int, Field(ge=0, le=64)] = Field(
        default=0,
        description="Statements longer than some 4 ms that run at once in a worker. More of them "
        "alternate every 20 ms. 0: half the processors, at least one.",
    )
    max_document_bytes: Bytes = Field(
        # NOTE: SQLite holds several copies while it builds a value, and checks no deadline
        # meanwhile: a text that doubles took 1.1 GB and 6 s at 256 MiB, a sixteenth of it here.
        default=16 * 1024 * 1024,
        description="Largest single value a read may build; more is an error.",
    )
    indexes: tuple[PropertyName, ...] = Field(
        default=(),
        description="Properties to index. The indexes are created when the store is opened; "
        "`twinframe index` creates them without a restart.",
    )
    automatic_indexes: Literal["off", "advise", "automatic"] = Field(
        default="automatic",
        description="`automatic`: properties get an index in the background when queries that read "
        "many entities for a few would use it, and lose it when none does any more. `advise`: "
        "`twinframe index list` only says which ones are wanted. `off`: nothing is counted, and "
        "automatic indexes are dropped.",
    )
    automatic_index_count: Annotated[int, Field(ge=0, le=64)] = Field(
        default=4,
        description="Largest number of automatic indexes of a graph. Each costs a write of an "
        "entity that has the property 1 to 4 microseconds.",
    )
    automatic_index_bytes: Bytes = Field(
        default=256 * 1024 * 1024,
        description="Largest size of all automatic indexes of a graph together.",
    )
    automatic_index_pause: Seconds = Field(
        default=2.0,
        description="Longest time for which making an automatic index may keep writes waiting, by "
        "an estimate. An index that takes longer is only advised.",
    )
    automatic_index_days: Annotated[float, Field(gt=0)] = Field(
        default=7.0,
        description="Days without use after which an automatic index is dropped.",
    )
