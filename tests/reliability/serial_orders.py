"""Finds out whether operations on registers equal some serial order, from what each of them saw.

A register is a key with a version that each write raises by one, and the tags of the operations
that wrote it last. So the writes of a key have one order, and an operation whose answer was lost is
known by those after it. An order of all operations exists if there is no cycle: a version comes
before what read it, which comes before the next version; what ended comes before what begins later.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

UNANSWERED: Final = math.inf
KEPT: Final = 200
"""Characters of the tags before it that a write keeps: some twenty tags, more than there are
clients whose answers are lost at once.
"""


class State(NamedTuple):
    """A register: its version from 0 on, the tags of who wrote it last, newest first, and content.

    Each tag ends with a space; of the last one only a part may be there.
    """

    version: int
    last: str
    content: object

    def list_writers(self) -> Sequence[str]:
        """Return the writers of this version, of that before it, and so on."""
        return self.last.split(" ")[:-1]


def build_tags(tag: str, before: str) -> str:
    """Return the tags that a write leaves which found these."""
    return f"{tag} {before[:KEPT]}"


States: TypeAlias = Mapping[str, State | None]
"""States by key; None: there is none yet."""


@dataclass(frozen=True, slots=True)
class Operation:
    """What a client did: `before` are the states that it saw, `after` those that it wrote.

    Without an answer it `ended` at `UNANSWERED`, and `writes` are all the keys that it writes if it
    was done. `begun` and `ended` are seconds of one clock.
    """

    tag: str
    begun: float
    ended: float
    before: States = field(default_factory=dict)
    after: States = field(default_factory=dict)
    writes: tuple[str, ...] = ()


@dataclass(slots=True)
class Findings:
    """What speaks against a serial order: each finding is a sentence."""

    unordered: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    halved: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    done_unanswered: int = 0

    def list_all(self) -> list[str]:
        """All of them."""
        return [*self.unordered, *self.lost, *self.halved, *self.doubled, *self.wrong]


class _Key:
    """The writes of a register, by the version that each made."""

    def __init__(self) -> None:
        self.writers: dict[int, str] = {}
        self.states: dict[int, State] = {}
        self.readers: defaultdict[int, list[str]] = defaultdict(list)


def check_order(operations: Sequence[Operation]) -> Findings:
    """Return what is wrong; the last operations must have read each key, so that nothing is open.

    `lost`: writes that were answered, and are in nobody's past. `doubled`: two writes of one
    version, or two creations. `halved`: one of an operation's writes is there, another is not.
    `wrong`: a state that its writer did not write. `unordered`: cycles.
    """
    findings = Findings()
    keys: defaultdict[str, _Key] = defaultdict(_Key)
    by_tag = {one.tag: one for one in operations}
    for one in operations:
        for name, state in one.after.items():
            assert state is not None
            _note_write(findings, keys[name], name, state, one.tag)
    for one in operations:
        for name, state in one.before.items():
            version = -1 if state is None else state.version
            keys[name].readers[version].append(one.tag)
            if state is not None:
                _note_seen(findings, keys[name], name, state, one, by_tag)
    _check_unanswered(findings, operations, keys)
    _check_cycles(findings, operations, keys)
    return findings


def _note_write(findings: Findings, key: _Key, name: str, state: State, tag: str) -> None:
    other = key.writers.setdefault(state.version, tag)
    if other != tag:
        findings.doubled.append(f"{name}: {other} and {tag} both wrote version {state.version}")
    key.states.setdefault(state.version, state)


def _note_seen(
    findings: Findings,
    key: _Key,
    name: str,
    state: State,
    reader: Operation,
    by_tag: Mapping[str, Operation],
) -> None:
    for back, tag in enumerate(state.list_writers()):
        version = state.version - back
        writer = key.writers.get(version)
        if writer is None:
            found = by_tag.get(tag)
            if found is None or found.ended != UNANSWERED or name not in found.writes:
                findings.wrong.append(f"{name}: {reader.tag} saw {state}, which nobody wrote")
                return
            key.writers[version] = tag
        elif writer != tag:
            findings.lost.append(
                f"{name}: {reader.tag} saw version {version} of {tag}, not of {writer}"
            )
            return
    written = key.states.setdefault(state.version, state)
    if written != state:
        findings.wrong.append(f"{name}: {reader.tag} saw {state}, not {written}")


def _check_unanswered(
    findings: Findings, operations: Sequence[Operation], keys: Mapping[str, _Key]
) -> None:
    done: defaultdict[str, set[str]] = defaultdict(set)
    for name, key in keys.items():
        for tag in key.writers.values():
            done[tag].add(name)
        for version in range(max([*key.writers, *key.readers]) + 1):
            if version not in key.writers:
                findings.lost.append(f"{name}: nobody is known to have written version {version}")
    for one in operations:
        if one.ended != UNANSWERED or one.tag not in done:
            continue
        findings.done_unanswered += 1
        missing = set(one.writes) - done[one.tag]
        if missing:
            findings.halved.append(f"{one.tag} wrote {done[one.tag]} and not {missing}")


def _check_cycles(
    findings: Findings, operations: Sequence[Operation], keys: Mapping[str, _Key]
) -> None:
    following: defaultdict[object, set[object]] = defaultdict(set)
    for key in keys.values():
        for before, after in _list_edges(key):
            if before != after:
                following[before].add(after)
    _add_times(following, operations)
    left = _find_cyclic(following)
    named = sorted(str(one) for one in left if isinstance(one, str))
    if named:
        findings.unordered.append(f"{len(named)} operations in or after cycles: {named[:6]}")


def _list_edges(key: _Key) -> Iterator[tuple[str, str]]:
    for version, writer in key.writers.items():
        for reader in key.readers[version]:
            yield writer, reader
        for reader in key.readers[version - 1]:
            yield reader, writer
        former = key.writers.get(version - 1)
        if former is not None:
            yield former, writer


def _add_times(
    following: defaultdict[object, set[object]], operations: Sequence[Operation]
) -> None:
    """Put each end before all that begins later, by a chain of moments."""
    events = [(one.begun, False, one.tag) for one in operations]
    events += [(one.ended, True, one.tag) for one in operations if one.ended != UNANSWERED]
    moment = 0
    for _, is_end, tag in sorted(events):
        if not is_end:
            following[moment].add(tag)
        else:
            # NOTE: a new moment comes after all that have ended so far.
            following[moment].add(moment + 1)
            following[tag].add(moment + 1)
            moment += 1


def _find_cyclic(following: Mapping[object, set[object]]) -> set[object]:
    """Return what is left when all that nothing comes before is taken away, again and again."""
    waiting: defaultdict[object, int] = defaultdict(int)
    for one, nexts in following.items():
        waiting[one] += 0
        for each in nexts:
            waiting[each] += 1
    free = [one for one, count in waiting.items() if not count]
    while free:
        one = free.pop()
        del waiting[one]
        for each in following.get(one, ()):
            waiting[each] -= 1
            if not waiting[each]:
                free.append(each)
    return set(waiting)
