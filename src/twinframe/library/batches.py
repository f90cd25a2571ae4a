"""Streams a long result as Arrow batches, a page of rows in memory at a time.

The type of a column is that of all its values, which are known at the end. So the rows go to a file
first, and are read from there.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any

import orjson

from twinframe.library.documents import Document, parse_documents
from twinframe.library.frames import WHOLE, Kind, Survey, build_typed, find_type, import_extra
from twinframe.model.rendering import list_members

if TYPE_CHECKING:
    import pyarrow as pa


class RowSpool:
    """The rows of a result in a file that has no name, and what their columns have in common."""

    def __init__(self, *, times: bool) -> None:
        """Raises `ModuleNotFoundError` without pyarrow."""
        self._arrow = import_extra("pyarrow", "arrow")
        self._times = times
        self._surveys: dict[str, Survey] = {}
        self._nested: dict[str, Any] = {}
        self._large: set[str] = set()
        self._file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  (the reader closes it)

    def close(self) -> None:
        """Give the file back."""
        self._file.close()

    def add(self, texts: Sequence[bytes]) -> None:
        """Add a page of rows."""
        rows = parse_documents(texts)
        for name in list_members(rows):
            values = [row.get(name) for row in rows]
            survey = self._surveys.setdefault(name, Survey())
            survey.add(values, times=self._times)
            if survey.find_kind() is Kind.NESTED:
                self._widen(name, values)
        self._file.write(b"[%b]\n" % b",".join(texts))

    def build_reader(self, columns: Sequence[str]) -> pa.RecordBatchReader:
        """Return a reader of all rows; without `columns` those are all members."""
        arrow = self._arrow
        names = list(columns) or [*self._surveys]
        kinds = {name: self._find_kind(name) for name in names}
        types = [
            self._nested[name] if kind is Kind.NESTED else find_type(arrow, kind)
            for name, kind in kinds.items()
        ]
        schema = arrow.schema(list(zip(names, types, strict=True)))
        self._file.seek(0)
        return arrow.RecordBatchReader.from_batches(schema, self._read(schema, kinds))

    def _find_kind(self, name: str) -> Kind:
        survey = self._surveys.get(name)
        kind = Kind.EMPTY if survey is None else survey.find_kind()
        if kind is Kind.NESTED:
            found = self._nested[name]
            if found is None or (name in self._large and "double" in str(found)):
                return Kind.MIXED
        return kind

    def _widen(self, name: str, values: Sequence[Any]) -> None:
        """Let the type of a column of documents or lists hold these values; None: none can."""
        arrow = self._arrow
        held = self._nested.get(name, arrow.null())
        if held is None:
            return
        try:
            found = [arrow.schema([("x", one)]) for one in (held, arrow.array(values).type)]
            joined = arrow.unify_schemas(found, promote_options="permissive").field("x").type
        except (arrow.ArrowInvalid, arrow.ArrowTypeError, OverflowError):
            joined = None
        self._nested[name] = joined
        if name not in self._large and any(map(_has_large, values)):
            self._large.add(name)

    def _read(self, schema: pa.Schema, kinds: dict[str, Kind]) -> Iterator[pa.RecordBatch]:
        with self._file as pages:
            for line in pages:
                rows: list[Document] = orjson.loads(line)
                arrays = [
                    build_typed(
                        self._arrow, [row.get(name) for row in rows], kind, schema.field(name).type
                    )
                    for name, kind in kinds.items()
                ]
                yield self._arrow.record_batch(arrays, schema=schema)


def _has_large(value: Any) -> bool:
    """Whether a value holds an integer that no double has."""
    if isinstance(value, dict):
        return any(map(_has_large, value.values()))
    if isinstance(value, list):
        return any(map(_has_large, value))
    return type(value) is int and abs(value) > WHOLE
