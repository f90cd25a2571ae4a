"""The audit log and request statistics of a hosted graph, as files in the graph's directory.

It never creates a directory, so that a removed graph stays removed.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import time
from typing import Any, Final, NamedTuple

import orjson

from twinframe.control.hosting.catalog import Catalog, HostedSettings
from twinframe.errors import TwinframeError
from twinframe.http.errors import render_text
from twinframe.http.line_log import render_moment
from twinframe.runtime.files import DRAFT
from twinframe.runtime.locks import wait_for_lock

_log = logging.getLogger(__name__)

AUDIT: Final = "audit"
STATISTICS: Final = "statistics.json"
_LARGEST_LINE: Final = 64 * 1024


@dataclass(slots=True)
class _Counter:
    """Answers of one operation since the last write to the file."""

    count: int = 0
    refused: int = 0
    failed: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class Unwritten:
    """The counts since the last write to the file."""

    charge: float = 0.0
    operations: dict[str, _Counter] = field(default_factory=dict)


class Change(NamedTuple):
    """A request that would change a graph, for its audit log."""

    moment: float
    subject: str
    credential: str
    operation: str
    method: str
    path: str
    status: int
    request_id: str
    client: str


class GraphJournal:
    """The journal of the graph whose directory is `directory`, for one worker of several.

    Totals are kept for every graph, as usage is billed by them; days and operations only where the
    owner wants analytics. Counts of other workers in the last seconds are not included yet.
    `catalog` has those of other machines.
    """

    def __init__(
        self, directory: Path, settings: HostedSettings, catalog: Catalog | None = None
    ) -> None:
        self._catalog = catalog
        self.settings = settings
        self._directory = directory
        self._unwritten = Unwritten()
        self._day = ""
        self._file: int | None = None

    # --- the audit log --------------------------------------------------------------------------

    @property
    def audits(self) -> bool:
        """Whether changes are logged."""
        return self.settings.audit_logging

    def note_change(self, change: Change) -> None:
        """Append a line to the file of its day.

        NOTE: it survives the end of the process; power loss may lose the last seconds.
        """
        time_text = render_moment(change.moment)
        line = orjson.dumps(
            {
                "time": time_text,
                # SEC: it is the issuer's text; a lone surrogate must not stop the log.
                "subject": render_text(change.subject),
                "credential": change.credential,
                "operation": change.operation,
                "method": change.method,
                "path": change.path,
                "status": change.status,
                "request_id": change.request_id,
                "client": change.client,
            },
            option=orjson.OPT_APPEND_NEWLINE,
        )
        try:
            # PERF: one `write` to a file that stays open takes 3 us; several workers may append.
            os.write(self._open_day(time_text[:10]), line)
        except OSError as error:
            _log.error("A change could not be written to %s: %s", self._directory / AUDIT, error)

    async def read_changes(
        self, day: str, offset: int, limit: int
    ) -> tuple[list[bytes], int | None]:
        """Return whole lines of the day's file from `offset`, and the offset of the next one."""
        return await asyncio.to_thread(
            read_lines, self._directory / AUDIT / f"{day}.jsonl", offset, limit
        )

    def _open_day(self, day: str) -> int:
        if self._file is None or self._day != day:
            self._close_file()
            path = self._directory / AUDIT / f"{day}.jsonl"
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            self._file, self._day = os.open(path, flags, 0o600), day
        return self._file

    def _close_file(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    # --- statistics -----------------------------------------------------------------------------

    def note_answer(self, operation: str, status: int, seconds: float, charge: float) -> None:
        """Count an answer; it is written later, with others."""
        unwritten = self._unwritten
        counter = unwritten.operations.get(operation)
        if counter is None:
            counter = unwritten.operations[operation] = _Counter()
        counter.count += 1
        counter.seconds += seconds
        if status >= 500:
            counter.failed += 1
        elif status >= 400:
            counter.refused += 1
        unwritten.charge += charge

    async def read_statistics(self) -> bytes | None:
        """Return the statistics with all of this worker's counts; None where the owner wants
        none.
        """
        if not self.settings.analytics:
            return None
        await asyncio.to_thread(self.write, self.take())
        return orjson.dumps(
            await asyncio.to_thread(read_all_statistics, self._directory, self._catalog)
        )

    def take(self) -> Unwritten:
        """Return and reset the counts to be written.

        Call it on the event loop, where answers are counted.
        """
        unwritten, self._unwritten = self._unwritten, Unwritten()
        return unwritten

    def write(self, unwritten: Unwritten) -> None:
        """Add the counts to the file that all workers share; in a thread, as it may wait."""
        if not unwritten.operations:
            return
        try:
            with _hold_lock(self._directory):
                document = read_statistics(self._directory)
                _add(document, unwritten, detailed=self.settings.analytics)
                write_statistics(self._directory, document)
            if self._catalog is not None:
                self._catalog.put_statistics(self._directory.name, document)
        except FileNotFoundError:
            return  # the graph is gone, with its statistics
        except TwinframeError as error:  # the next write has these counts too
            _log.warning("The statistics of %s are not shared: %s", self._directory, error.message)
        except OSError as error:
            _log.warning("The statistics of %s are not written: %s", self._directory, error)

    def close(self) -> None:
        """Write the remaining counts, and close the file."""
        self.write(self.take())
        self._close_file()


def prepare_journal(directory: Path) -> None:
    """Create the files that the journal of a new graph needs."""
    (directory / AUDIT).mkdir(mode=0o700, exist_ok=True)


def prune_journal(directory: Path, audit_days: int, statistics_days: int) -> None:
    """Delete older days."""
    oldest = _render_day(audit_days)
    for path in (directory / AUDIT).glob("*.jsonl"):
        if path.stem < oldest:
            path.unlink(missing_ok=True)
    oldest = _render_day(statistics_days)
    if all(day >= oldest for day in read_statistics(directory)["days"]):
        return
    with suppress(FileNotFoundError), _hold_lock(directory):
        document = read_statistics(directory)
        document["days"] = {day: one for day, one in document["days"].items() if day >= oldest}
        write_statistics(directory, document)


def read_lines(path: Path, offset: int, limit: int) -> tuple[list[bytes], int | None]:
    """Return whole lines from `offset` on, without their ends, and the offset of the next."""
    lines: list[bytes] = []
    try:
        with path.open("rb") as stream:
            if offset > os.fstat(stream.fileno()).st_size:
                return lines, None
            stream.seek(max(offset - 1, 0))
            if offset and stream.read(1) != b"\n":
                stream.readline(_LARGEST_LINE)  # an offset chosen by the caller
            while len(lines) <= limit:
                line = stream.readline()
                if not line.endswith(b"\n"):
                    return lines, None
                if len(lines) == limit:
                    return lines, stream.tell() - len(line)
                lines.append(line[:-1])
    except FileNotFoundError:
        pass
    return lines, None


def read_statistics(directory: Path) -> dict[str, Any]:
    """Read the file: `since`, `totals` and `days`."""
    try:
        document: dict[str, Any] = orjson.loads((directory / STATISTICS).read_bytes())
    except (FileNotFoundError, orjson.JSONDecodeError):
        document = {
            "since": render_moment(time()),
            "totals": {"operations": 0, "refused": 0, "failed": 0, "query_charge": 0.0},
            "days": {},
        }
    return document


def read_all_statistics(directory: Path, catalog: Catalog | None) -> dict[str, Any]:
    """Read the statistics of all machines together."""
    document = read_statistics(directory)
    for other in [] if catalog is None else catalog.list_statistics(directory.name):
        document["since"] = min(document["since"], other["since"])
        _add_up(document["totals"], other["totals"])
        for name, day in other["days"].items():
            known = document["days"].setdefault(name, {"query_charge": 0.0, "operations": {}})
            known["query_charge"] += day["query_charge"]
            for operation, counts in day["operations"].items():
                _add_up(known["operations"].setdefault(operation, {}), counts)
    return document


def _add_up(numbers: dict[str, Any], more: dict[str, Any]) -> None:
    for key, number in more.items():
        numbers[key] = numbers.get(key, 0) + number


def write_statistics(directory: Path, document: dict[str, Any]) -> None:
    """Replace the file as a whole, under its lock. Raises `FileNotFoundError` where the graph is
    gone.
    """
    unfinished = directory / f"{STATISTICS}{DRAFT}"
    unfinished.write_bytes(orjson.dumps(document))
    unfinished.replace(directory / STATISTICS)


def _add(document: dict[str, Any], unwritten: Unwritten, *, detailed: bool) -> None:
    totals = document["totals"]
    for counter in unwritten.operations.values():
        totals["operations"] += counter.count
        totals["refused"] += counter.refused
        totals["failed"] += counter.failed
    totals["query_charge"] += unwritten.charge
    if not detailed:
        return
    day = document["days"].setdefault(_render_day(0), {"query_charge": 0.0, "operations": {}})
    day["query_charge"] += unwritten.charge
    for name, counter in unwritten.operations.items():
        empty = {"count": 0, "refused": 0, "failed": 0, "seconds": 0.0}
        known = day["operations"].setdefault(name or "(none)", empty)
        for key in empty:
            known[key] += getattr(counter, key)


@contextmanager
def _hold_lock(directory: Path) -> Iterator[None]:
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        wait_for_lock(handle)
        yield
    finally:
        os.close(handle)


def _render_day(ago: int) -> str:
    return (datetime.now(UTC) - timedelta(days=ago)).strftime("%Y-%m-%d")
