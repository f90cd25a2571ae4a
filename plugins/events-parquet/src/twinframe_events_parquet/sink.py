"""An event sink that writes rows of data history as Parquet files, a folder for each table and day.

Times are in microseconds and UTC: Spark reads no finer ones. Values are JSON by their type in the
file, which readers without such a type see as text.
"""

from __future__ import annotations

import asyncio
import errno
import io
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pyarrow as pa
from pyarrow import parquet

from twinframe.errors.masking import mask_secrets
from twinframe.hooks.event_sinks.base import DeliveryFailed
from twinframe.hooks.event_sinks.tables import ColumnKind, Table, TableRow, TableSink
from twinframe_events_parquet.files import build_files
from twinframe_events_parquet.settings import ParquetSettings

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_TYPES: Final = {
    ColumnKind.TEXT: pa.string(),
    ColumnKind.TIME: pa.timestamp("us", tz="UTC"),
    ColumnKind.JSON: pa.json_(pa.string()),
}
_DAY: Final = len("2026-01-31")
_INSTALL: Final = {
    "s3": "s3",
    "s3a": "s3",
    "gs": "gcs",
    "gcs": "gcs",
    "az": "azure",
    "abfs": "azure",
}


_LASTING: Final = (
    PermissionError,
    FileNotFoundError,
    NotADirectoryError,
    IsADirectoryError,
    NotImplementedError,
    ValueError,
    TypeError,
)
_LASTING_NUMBERS: Final = frozenset({errno.EROFS, errno.ENAMETOOLONG, errno.ELOOP, errno.EFBIG})
_LASTS: Final = "It stays so until somebody changes that; rows are kept and tried again."


class ParquetSink(TableSink):
    """Writes one file for each table and day of the rows it gets."""

    def __init__(self, settings: ParquetSettings) -> None:
        self.rows = settings.rows
        self.seconds = settings.seconds
        self._location = settings.location
        self._files = build_files(settings.location)

    async def open(self) -> None:
        """Check that the location can be used."""
        await self._run(self._files.check)

    async def write(self, name: str, rows: Sequence[TableRow]) -> None:
        """Write them; it returns when all files are on stable storage."""

        def write_all() -> None:
            for (table, day), found in _group(rows).items():
                content = render_parquet(table, found)
                self._files.put((table.name, f"day={day}", f"{name}.parquet"), content)

        await self._run(write_all)

    async def _run(self, call: Any) -> None:
        try:
            await asyncio.to_thread(call)
        except ImportError as error:
            scheme = self._location.partition("://")[0]
            extra = _INSTALL.get(scheme)
            hint = f": pip install 'twinframe[{extra}]'" if extra else f": {error}"
            raise DeliveryFailed(
                f"Location {self._location} needs a library that is not installed{hint}. {_LASTS}",
                told=f"The endpoint's Location needs a library that is not installed{hint}. "
                + _LASTS,
            ) from error
        except Exception as error:
            # NOTE: each library of a storage has errors of its own; all are reason to try again.
            # The system's own, which they also raise, say what a later attempt cannot change.
            reason, lasts = _render_reason(error), f" {_LASTS}" if is_lasting(error) else ""
            kind = type(error).__name__
            raise DeliveryFailed(
                f"Location {self._location} cannot be written to: {reason}.{lasts}",
                told=f"The endpoint's Location cannot be written to: {kind}.{lasts}",
            ) from error


def is_lasting(error: BaseException) -> bool:
    """Return whether an error will come again until somebody changes the storage or settings.

    Libraries of storages raise the system's errors, or have them as causes: no permission, no
    such bucket or folder, a kind of storage that is not known.
    """
    found: BaseException | None = error
    seen: list[BaseException] = []
    while found is not None and not any(found is each for each in seen):
        if isinstance(found, _LASTING) or getattr(found, "errno", None) in _LASTING_NUMBERS:
            return True
        seen.append(found)
        found = found.__cause__
    return False


def render_parquet(table: Table, rows: Iterable[TableRow]) -> bytes:
    """Render rows of one table as a Parquet file."""
    columns = zip(*(row.values for row in rows), strict=True)
    arrays: list[Any] = []
    for (_, kind), values in zip(table.columns, columns, strict=True):
        if kind is ColumnKind.TIME:
            arrays.append(pa.array(map(read_microseconds, values), _TYPES[kind]))
        elif kind is ColumnKind.JSON:
            texts = pa.array(values, pa.string())
            arrays.append(pa.ExtensionArray.from_storage(_TYPES[kind], texts))
        else:
            arrays.append(pa.array(values, _TYPES[kind]))
    schema = pa.schema([(name, _TYPES[kind]) for name, kind in table.columns])
    out = io.BytesIO()
    parquet.write_table(pa.Table.from_arrays(arrays, schema=schema), out, compression="zstd")
    return out.getvalue()


def read_microseconds(text: str | None) -> int | None:
    """Return the microseconds since 1970 of an RFC 3339 time, None if there is no such day."""
    if text is None:
        return None
    try:
        return (datetime.fromisoformat(text) - _EPOCH) // _MICROSECOND
    except (ValueError, TypeError):
        return None


def _group(rows: Sequence[TableRow]) -> dict[tuple[Table, str], list[TableRow]]:
    found: dict[tuple[Table, str], list[TableRow]] = defaultdict(list)
    for row in rows:
        found[row.table, row.time[:_DAY]].append(row)
    return found


def _render_reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return mask_secrets(f"{type(error).__name__}: {error}").rstrip(".")
