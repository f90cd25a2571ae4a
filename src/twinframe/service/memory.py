"""Builds the memory account of a worker from the settings and the machine's memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from twinframe.runtime.diagnosis.findings import Finding, build_fine, build_warning
from twinframe.runtime.diagnosis.machine import read_memory_limit
from twinframe.runtime.heap import Footprint
from twinframe.runtime.instruments.base import Level
from twinframe.runtime.memory import MemoryAccount, Part
from twinframe.settings import Settings

_MIB: Final = 1024 * 1024
_BASE_BYTES: Final = 96 * _MIB
_MOST_BYTES: Final = 384 * _MIB
_LEAST_BYTES: Final = 32 * _MIB
"""The least size of an account: with less not even the limits of single documents fit."""

_LEVELS: Final = {
    Part.REQUESTS: Level.MEMORY_REQUESTS,
    Part.WRITES: Level.MEMORY_WRITES,
    Part.QUERIES: Level.MEMORY_QUERIES,
    Part.ANSWERS: Level.MEMORY_ANSWERS,
    Part.IMPORTS: Level.MEMORY_IMPORTS,
}


class MemoryLevels:
    """An account as a source of metrics."""

    def __init__(self, account: MemoryAccount) -> None:
        self._account = account

    def read_levels(self) -> Mapping[Level, float]:
        """Return the bytes that each part holds, and how many requests were refused."""
        levels: dict[Level, float] = {
            level: self._account.read_held(part) for part, level in _LEVELS.items()
        }
        levels[Level.MEMORY_REFUSALS] = self._account.refusals
        return levels


def build_account(settings: Settings, workers: int = 0, *, alone: bool = True) -> MemoryAccount:
    """Build the account of one of `workers` processes; 0 uses the service's number of workers.

    In a process that is not `alone`, such as a notebook, only what the account counts is bounded.
    """
    own = settings.memory
    shares = {
        Part.REQUESTS: own.requests,
        Part.WRITES: own.writes,
        Part.QUERIES: own.queries,
        Part.ANSWERS: own.answers,
        Part.IMPORTS: own.imports,
    }
    total = max(_LEAST_BYTES, _read_share(settings, workers) - _BASE_BYTES)
    limits = {part: total * share // 100 for part, share in shares.items()}
    return MemoryAccount(total, limits, Footprint(total + _BASE_BYTES) if alone else None)


def check_memory(settings: Settings) -> Finding:
    """Check that the machine has the memory, and that it suffices for the workers."""
    workers = settings.server.workers
    share, machine = _read_share(settings, workers), read_memory_limit()
    if share - _BASE_BYTES < _LEAST_BYTES:
        return build_warning(
            "memory",
            f"{workers} workers have {share // _MIB} MiB each; they may need "
            f"{(_BASE_BYTES + _LEAST_BYTES) // _MIB} MiB and more.",
            "Give the machine, or the container, more memory, set Memory__Bytes, or lower "
            "Server__Workers.",
        )
    wanted = settings.memory.bytes_
    if wanted and machine is not None and wanted > machine:
        return build_warning(
            "memory",
            f"Memory__Bytes={wanted} is more than the machine, or the container, has: {machine}.",
            "Set Memory__Bytes=0, or less than that.",
        )
    return build_fine("memory", f"Each of {workers} workers may have {share // _MIB} MiB.")


def _read_share(settings: Settings, workers: int) -> int:
    """Bytes of one worker."""
    workers = workers or settings.server.workers
    wanted = settings.memory.bytes_
    if not wanted:
        machine = read_memory_limit()
        most = _MOST_BYTES * workers
        wanted = most if machine is None else min(most, machine // 2)
    return wanted // workers
