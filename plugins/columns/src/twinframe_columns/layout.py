"""The file of a projection: arrays one after the other, then a header in JSON, with checksums.

Every process maps it privately: pages that none changes are in memory once for all, and changes
stay with the process that makes them. It may be lost or torn at any time, so it is not synced.
"""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import IO, Any, Final

import numpy as np
import numpy.typing as npt
import orjson

from twinframe_columns.column import Column
from twinframe_columns.edges import Edges
from twinframe_columns.projection import Path, Projection
from twinframe_columns.strings import Strings

_MAGIC: Final = b"twinframe columns 5\n"
_TAIL: Final = 12 + len(_MAGIC)
_ALIGNMENT: Final = 64
_LEAST_SPARE: Final = 4_096
_SPARE_PART: Final = 8
"""The part of the rows by which twins and relationships can grow before the file is made anew."""

Array = npt.NDArray[Any]


class UnusableFile(Exception):
    """It is not a whole file of this version."""


class _Writer:
    """Writes arrays behind one another; what is zero at both ends of one takes no space."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._end = 0

    def add(self, array: Array, room: int = 0) -> dict[str, Any]:
        """Write an array with room for at least `room` items; return where it is."""
        start = -(-self._end // _ALIGNMENT) * _ALIGNMENT
        size = array.dtype.itemsize
        self._end = start + max(len(array), room) * size
        written = {"at": start, "count": max(len(array), room), "type": array.dtype.str}
        filled = np.flatnonzero(array)
        if len(filled):
            first, last = int(filled[0]), int(filled[-1]) + 1
            data = np.ascontiguousarray(array[first:last]).data.cast("B")
            self._file.seek(start + first * size)
            self._file.write(data)
            written["filled"] = [first * size, last * size, zlib.crc32(data)]
        return written

    def finish(self) -> int:
        """Give the file its length; return it."""
        self._file.truncate(self._end)
        return self._end


def add_spare(count: int) -> int:
    """Return the number of rows for which there is room."""
    return count + max(_LEAST_SPARE, count // _SPARE_PART)


def find_draft(target: FilePath, process: int) -> FilePath:
    """Return the path at which a process writes what will be the target."""
    return target.with_name(f"{target.name}.{process}.part")


def write_projection(projection: Projection, instance: str, target: FilePath) -> None:
    """Write to a new file beside `target`, then put it in its place."""
    temporary = find_draft(target, os.getpid())
    try:
        with temporary.open("xb") as file:
            # NOTE: nobody writes to it again: a process that maps a file that is cut dies.
            os.fchmod(file.fileno(), 0o400)
            _write(projection, instance, file)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _write(projection: Projection, instance: str, file: IO[bytes]) -> None:
    writer = _Writer(file)
    room = add_spare(projection.count)
    header: dict[str, Any] = {
        "instance": instance,
        "position": projection.position,
        "proof": projection.proof,
        "seconds": projection.seconds,
        "models": projection.models,
        "labels": [sorted(own) for own in projection.labels],
        "starts": list(projection.starts),
        "count": projection.count,
        "complete": projection.is_complete,
        "left_out": [list(path) for path in sorted(projection.left_out)],
        "numbers": writer.add(projection.numbers, room),
        "rows": writer.add(projection.rows, room),
        "columns": _write_columns(writer, projection.columns, room),
        "members": {
            str(at): [list(p) for p in sorted(own)] for at, own in projection.members.items()
        },
        "edges": {name: _write_edges(writer, one) for name, one in projection.edges.items()},
    }
    length = header["length"] = writer.finish()
    text = orjson.dumps(header)
    file.seek(length)
    file.write(text)
    file.write(_build_tail(text))


def _build_tail(header: bytes) -> bytes:
    return struct.pack("<QI", len(header), zlib.crc32(header)) + _MAGIC


def _write_columns(writer: _Writer, columns: Mapping[Path, Column], room: int) -> list[Any]:
    return [[list(path), _write_column(writer, one, room)] for path, one in columns.items()]


def _write_column(writer: _Writer, column: Column, room: int) -> dict[str, Any]:
    written: dict[str, Any] = {
        "kinds": writer.add(column.kinds, room),
        "null": column.has_null,
    }
    if column.numbers is not None:
        written["numbers"] = writer.add(column.numbers, room)
    if column.codes is not None and column.strings is not None:
        written["codes"] = writer.add(column.codes, room)
        offsets, blob = column.strings.read_arrays()
        written["offsets"], written["blob"] = writer.add(offsets), writer.add(blob)
    return written


def _write_edges(writer: _Writer, edges: Edges) -> dict[str, Any]:
    room = add_spare(edges.count)
    return {
        "count": edges.count,
        "complete": edges.is_complete,
        "left_out": [list(path) for path in sorted(edges.left_out)],
        "sources": writer.add(edges.sources, room),
        "targets": writer.add(edges.targets, room),
        "outgoing": writer.add(edges.outgoing),
        "incoming": writer.add(edges.incoming),
        "by_target": writer.add(edges.by_target),
        "columns": _write_columns(writer, edges.columns, room),
    }


# --- reading ------------------------------------------------------------------------------------


class _Reader:
    def __init__(self, data: mmap.mmap) -> None:
        self._data = data

    def read(self, place: Mapping[str, Any]) -> Array:
        """Raises `UnusableFile`. What was not filled is zero, and is not looked at."""
        if not place["count"]:
            return np.empty(0, np.dtype(place["type"]))
        if "filled" in place:
            first, last, checksum = place["filled"]
            with memoryview(self._data) as data:
                if zlib.crc32(data[place["at"] + first : place["at"] + last]) != checksum:
                    raise UnusableFile
        return np.frombuffer(self._data, place["type"], place["count"], place["at"])

    def read_columns(self, written: list[Any]) -> dict[Path, Column]:
        return {tuple(path): self._read_column(one) for path, one in written}

    def _read_column(self, written: Mapping[str, Any]) -> Column:
        kinds = self.read(written["kinds"])
        numbers = codes = strings = None
        if "numbers" in written:
            numbers = self.read(written["numbers"])
        if "codes" in written:
            codes = self.read(written["codes"])
            strings = Strings(self.read(written["offsets"]), self.read(written["blob"]))
        return Column(kinds, numbers, codes, strings, has_null=written["null"])

    def read_edges(self, written: Mapping[str, Any]) -> Edges:
        edges = Edges(
            self.read(written["sources"]),
            self.read(written["targets"]),
            count=written["count"],
            filed=written["count"],
            outgoing=self.read(written["outgoing"]),
            incoming=self.read(written["incoming"]),
            by_target=self.read(written["by_target"]),
            columns=self.read_columns(written["columns"]),
        )
        edges.is_complete = written["complete"]
        edges.left_out = {tuple(path) for path in written["left_out"]}
        return edges


def read_projection(file: IO[bytes], instance: str) -> Projection:
    """Map an open file. Raises `UnusableFile` unless it is as it was written, for this graph."""
    end = file.seek(0, os.SEEK_END)
    if end < _TAIL:
        raise UnusableFile
    file.seek(end - _TAIL)
    tail = file.read()
    size = int.from_bytes(tail[:8], "little")
    if not tail.endswith(_MAGIC) or size > end - _TAIL:
        raise UnusableFile
    file.seek(end - _TAIL - size)
    text = file.read(size)
    if _build_tail(text) != tail:
        raise UnusableFile
    header = orjson.loads(text)
    if header["instance"] != instance or header["length"] != end - _TAIL - size:
        raise UnusableFile
    reader = _Reader(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
    return Projection(
        position=header["position"],
        proof=header["proof"],
        seconds=header["seconds"],
        models=header["models"],
        labels=[frozenset(own) for own in header["labels"]],
        starts=header["starts"],
        count=header["count"],
        filed=header["count"],
        numbers=reader.read(header["numbers"]),
        rows=reader.read(header["rows"]),
        columns=reader.read_columns(header["columns"]),
        members={int(at): {tuple(p) for p in own} for at, own in header["members"].items()},
        edges={name: reader.read_edges(one) for name, one in header["edges"].items()},
        is_complete=header["complete"],
        left_out={tuple(path) for path in header["left_out"]},
    )
