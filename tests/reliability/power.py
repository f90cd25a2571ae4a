"""What a disk may hold after power is lost, from a record of what was written and what was synced.

It knows files and no database. The record orders the calls of all processes; operations on names
(create, rename, unlink, cut) are taken as durable at once, contents only once they were synced.
"""

from __future__ import annotations

import os
import random
import shutil
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.reliability.preloads import compile_preload

_HEAD: Final = struct.Struct("<BBHIq")
_WRITE, _SYNC, _TRUNCATE, _RENAME, _UNLINK, _RECREATE, ACKNOWLEDGED = range(1, 8)
_SECTOR: Final = 512


class Recorder:
    """Compiles the recorder once, and says what a process needs to be recorded."""

    def __init__(self, log: Path, watched: Path) -> None:
        self._library = compile_preload("recorder", log.parent)
        self._watched = watched
        self.log = log
        watched.mkdir(parents=True, exist_ok=True)
        self._handle = os.open(self.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def build_environment(self) -> dict[str, str]:
        """What a process is started with."""
        return {
            **os.environ,
            "LD_PRELOAD": str(self._library),
            "RECORDER_LOG": str(self.log),
            "RECORDER_FOLDER": f"{self._watched}/",
        }

    def acknowledge(self, key: str, value: int) -> None:
        """Put into the record that this value of `key` was acknowledged, here and now."""
        name = key.encode()
        os.write(self._handle, _HEAD.pack(ACKNOWLEDGED, len(name), 0, 0, value) + name)

    def close(self) -> None:
        """Give the log back."""
        os.close(self._handle)


@dataclass(frozen=True, slots=True)
class Step:
    """One record."""

    operation: int
    name: str
    data: bytes
    offset: int


def read_steps(log: Path) -> list[Step]:
    """All records in their order."""
    raw = log.read_bytes()
    steps, at = [], 0
    while at < len(raw):
        operation, name_size, _, size, offset = _HEAD.unpack_from(raw, at)
        at += _HEAD.size
        name, data = raw[at : at + name_size].decode(), raw[at + name_size : at + name_size + size]
        at += name_size + size
        steps.append(Step(operation, name, data, offset))
    return steps


@dataclass(slots=True)
class _File:
    durable: bytearray = field(default_factory=bytearray)
    waiting: list[tuple[int, bytes]] = field(default_factory=list)

    def sync(self) -> None:
        for offset, data in self.waiting:
            _apply(self.durable, offset, data)
        self.waiting.clear()

    def cut(self, size: int) -> None:
        del self.durable[size:]
        self.durable.extend(bytes(size - len(self.durable)))
        self.waiting = [(at, data[: size - at]) for at, data in self.waiting if at < size]


@dataclass(frozen=True, slots=True)
class Image:
    """Files as they may be found, and the greatest acknowledged value of each key by then."""

    files: Mapping[str, bytes]
    acknowledged: Mapping[str, int]

    def write(self, folder: Path) -> None:
        """Put the files into an empty folder."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for name, content in self.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)


def build_images(steps: list[Step], start: int, count: int, seed: int) -> Iterator[Image]:
    """So many images at random points after step `start`: of what was not synced, pieces are
    dropped in one, and in the other a part of it arrived in order, its last piece torn.
    """
    dice = random.Random(seed)
    points = sorted(dice.randrange(start, len(steps) + 1) for _ in range((count + 1) // 2))
    files: dict[str, _File] = {}
    acknowledged: dict[str, int] = {}
    done = 0
    for point in points:
        for step in steps[done:point]:
            _take(files, acknowledged, step)
        done = point
        for survive in (_drop, _tear):
            found = {name: bytes(survive(each, dice)) for name, each in files.items()}
            yield Image(found, dict(acknowledged))


def _take(files: dict[str, _File], acknowledged: dict[str, int], step: Step) -> None:
    if step.operation == ACKNOWLEDGED:
        acknowledged[step.name] = step.offset
    elif step.operation == _WRITE:
        files.setdefault(step.name, _File()).waiting.append((step.offset, step.data))
    elif step.operation == _SYNC:
        files.setdefault(step.name, _File()).sync()
    elif step.operation == _TRUNCATE:
        files.setdefault(step.name, _File()).cut(step.offset)
    elif step.operation == _RENAME and step.name in files:
        files[step.data.decode()] = files.pop(step.name)
    elif step.operation == _UNLINK:
        files.pop(step.name, None)
    elif step.operation == _RECREATE:
        files[step.name] = _File()


def _drop(file: _File, dice: random.Random) -> bytearray:
    found = bytearray(file.durable)
    share = dice.random()
    for offset, data in file.waiting:
        if dice.random() < share:
            _apply(found, offset, data)
    return found


def _tear(file: _File, dice: random.Random) -> bytearray:
    found = bytearray(file.durable)
    whole = dice.randrange(len(file.waiting) + 1)
    for offset, data in file.waiting[:whole]:
        _apply(found, offset, data)
    for offset, data in file.waiting[whole : whole + 1]:
        _apply(found, offset, data[: dice.randrange(len(data) // _SECTOR + 1) * _SECTOR])
    return found


def _apply(content: bytearray, offset: int, data: bytes) -> None:
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(data)] = data
