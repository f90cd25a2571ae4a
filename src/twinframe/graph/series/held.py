"""Reads what a property of a twin held, change by change, from the rows of its history."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import orjson

from twinframe.graph.events.changes import is_same
from twinframe.graph.events.event import ABSENT, find_value
from twinframe.graph.events.rows import split_row
from twinframe.graph.history.documents import CREATIONS, read_document, read_documents
from twinframe.graph.history.history import Range
from twinframe.graph.history.versions import iterate_versions
from twinframe.model.patches import render_pointer
from twinframe.model.paths import split_path
from twinframe.storage.base import ChangeKind, ChangeRow, EntityKey, GraphSession
from twinframe.storage.points import SeriesKey

SAME: Final[Any] = object()
"""In place of a value: the change was of something else."""
_NANOSECONDS: Final = 1000  # of a microsecond
_FEW: Final = 16
_MANY: Final = 4096
_BYTES: Final = 4 * 1024 * 1024
"""SEC: a row may have megabytes, so that few are held at once."""
_VALUE: Final = b'"patch":[{"value":'
_ENDS: Final = (b'replace"}]}\n', b'add"}]}\n')


class Held(NamedTuple):
    """Changes of a twin in order: positions, moments in microseconds, and the new values."""

    positions: Sequence[int]
    moments: Sequence[int]
    values: Sequence[Any]


def is_point(value: Any) -> bool:
    """Return whether it is a single value; objects, arrays and null count as none."""
    return isinstance(value, str | int | float)


def read_beginnings(
    session: GraphSession, keys: Sequence[SeriesKey], position: int
) -> Mapping[SeriesKey, Any]:
    """Return the value of each property in the state at a position, `ABSENT` for none."""
    paths: dict[EntityKey, list[str]] = {}
    for twin_id, path in keys:
        paths.setdefault((twin_id, ""), []).append(path)
    found: dict[SeriesKey, Any] = dict.fromkeys(keys, ABSENT)
    owners, most = [*paths], session.most_at_once
    for start in range(0, len(owners), most):
        documents = read_documents(session, owners[start : start + most], position)
        for key, body in documents.items():
            document = orjson.loads(body)
            for path in paths[key]:
                found[key[0], path] = find_value(document, split_path(path))
    return found


def iterate_held(
    session: GraphSession, key: SeriesKey, within: Range, value: Any
) -> Iterator[Held]:
    """Yield the changes of a twin in a range; `value` is what the property held before them.

    PERF: where the rows have the patches of their events, only these are looked at: 2 us a change,
    where documents that are built take 45 us. Call it in a snapshot.
    """
    twin_id, path = key
    names = split_path(path)
    read_new = _build_reader(session, twin_id, names)
    after, limit = within.after, _FEW
    while after < within.end:
        rows = session.read_change_rows(
            (twin_id, ""), after=after, before=within.end + 1, limit=limit
        )
        session.check_deadline()
        if not rows:
            return
        values: list[Any] = []
        for row in rows:
            new = read_new(row)
            if new is _UNKNOWN:
                break
            if new is not SAME:
                if _is_other(value, new):
                    value = new
                else:
                    new = SAME
            values.append(new)
        known = rows[: len(values)]
        if known:
            yield Held([row[0] for row in known], [row[1] // _NANOSECONDS for row in known], values)
            after = known[-1][0]
        if len(known) < len(rows):
            yield from _iterate_documents(session, key, within._replace(after=after), value)
            return
        if len(rows) < limit:
            return
        size = sum([len(row[3]) for row in rows]) // len(rows)
        limit = max(min(4 * limit, _MANY, _BYTES // size), 1)


def _is_other(value: Any, new: Any) -> bool:
    return (is_point(value) or is_point(new)) and not is_same(value, new)


_UNKNOWN: Final[Any] = object()
_MEMBERS: Final = "$"


def _build_reader(
    session: GraphSession, twin_id: str, names: Sequence[str]
) -> Callable[[ChangeRow], Any]:
    """Return a function from a row to the value after it, `SAME`, or `_UNKNOWN`."""
    if any(name.startswith(_MEMBERS) or name.isdecimal() for name in names):
        return lambda row: _UNKNOWN  # metadata change with every write, items move in arrays
    own = b',"path":%b,"op":"' % orjson.dumps(render_pointer(names))
    near = orjson.dumps(render_pointer(names[:1]))[:-1]
    shift, skip = len(_VALUE), len(own)

    def read(row: ChangeRow) -> Any:
        position, _, kind, body = row
        if kind == ChangeKind.TWIN_UPDATED:
            end = body.find(own)
            if end > 0 and body.startswith(_ENDS, end + skip):
                start = body.find(_VALUE) + shift
                if shift <= start < end:
                    try:
                        return orjson.loads(body[start:end])
                    except orjson.JSONDecodeError:  # there are more operations
                        pass
            return _read_patch(body, names, near)
        if kind in CREATIONS:
            return _read_value(read_document(session, (twin_id, ""), position), names)
        return ABSENT

    return read


def _read_patch(body: bytes, names: Sequence[str], near: bytes) -> Any:
    """Return the value after a patch."""
    texts = split_row(body)
    if texts is None or not texts[0]:
        return _UNKNOWN
    if near not in texts[0]:
        return SAME
    new = SAME
    for operation in orjson.loads(texts[0])["patch"]:
        changed = split_path(operation["path"][1:])
        if changed == names[: len(changed)]:
            new = ABSENT
            if operation["op"] != "remove":
                new = find_value(operation["value"], names[len(changed) :])
        elif names == changed[: len(names)]:
            new = {}  # a part of it: it is an object
    return new


def _iterate_documents(
    session: GraphSession, key: SeriesKey, within: Range, value: Any
) -> Iterator[Held]:
    """Yield changes by the documents after them, one by one."""
    twin_id, path = key
    names = split_path(path)
    for version in iterate_versions(session, (twin_id, ""), within, newest_first=False):
        new = _read_value(version.after, names)
        if _is_other(value, new):
            value = new
        else:
            new = SAME
        yield Held([version.position], [version.moment // _NANOSECONDS], [new])


def _read_value(body: bytes | None, names: Sequence[str]) -> Any:
    return ABSENT if body is None else find_value(orjson.loads(body), names)
