"""Computes the patch from one document to the next, with the values that it replaces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import orjson

from twinframe.graph.events.envelope import build_rows
from twinframe.model.patches import PatchOperation
from twinframe.model.values import JsonValue

Document = Mapping[str, JsonValue]

_METADATA: Final = "$metadata"
_MODEL: Final = "$model"
_SOURCE_TIME: Final = "sourceTime"
_PLAIN: Final = frozenset((str, float, int, bool, type(None)))


class Changes(NamedTuple):
    """A patch as it is sent, and for each of its operations the old value: `[value]`, or `[]` for
    none; the number of another operation says that it is at or below the value of that one.
    """

    patch: list[dict[str, Any]]
    old: list[list[Any] | int]


def build_changes(before: Document, after: Document) -> Changes:
    """Build the operations that change the contents of a stored document to those of another.

    Properties are replaced as a whole, those of components one by one; the service's own members
    (`$etag`, times) are left out, except a twin's model. Order: that of `after`, removals last.
    PERF: a third of the cost of operations as objects; every PUT over a twin calls this.
    """
    found = Changes([], [])
    model, old_model = _read_model(after), _read_model(before)
    if model is not None and model != old_model:
        found.patch.append({"value": model, "path": f"/{_METADATA}/{_MODEL}", "op": "replace"})
        found.old.append([] if old_model is None else [old_model])
    _compare(before, after, "", found)
    return found


def add_source_times(found: Changes, before: Document, after: Document) -> None:
    """Add operations for the times of sources that changed, or of properties that changed."""
    changed = {operation["path"] for operation in found.patch}
    for under, old, new in [("", before, after), *_list_parts(before, after)]:
        olds: Any = old.get(_METADATA, {})
        news: Any = new.get(_METADATA, {})
        for name, entry in news.items():
            time = entry.get(_SOURCE_TIME) if isinstance(entry, dict) else None
            if time is None:
                continue
            earlier = olds.get(name, {}).get(_SOURCE_TIME)
            if time != earlier or not changed.isdisjoint((under, _join(under, name))):
                path = f"{_join(f'{under}/{_METADATA}', name)}/{_SOURCE_TIME}"
                verb = "add" if earlier is None else "replace"
                found.patch.append({"value": time, "path": path, "op": verb})
                found.old.append([] if earlier is None else [earlier])


def _list_parts(before: Document, after: Document) -> list[tuple[str, Any, Any]]:
    """Return the components of a document: pointer, earlier state, present one."""
    return [
        (_join("", name), old if _is_part(old := before.get(name)) else {}, new)
        for name, new in after.items()
        if _is_part(new)
    ]


def build_patch_changes(before: Document, operations: Sequence[PatchOperation]) -> Changes:
    """Build the changes of a patch, from the document before it is applied, without keeping it.

    NOTE: a value is included once, with the operation at the highest path above the others.
    Otherwise a thousand operations on one large property would keep it a thousand times.
    """
    root: dict[str | None, Any] = {}  # a tree of segments; under None the operation of a path
    for number, operation in enumerate(operations):
        node = root
        for segment in operation.path:
            node = node.setdefault(segment, {})
        node.setdefault(None, number)
    old: list[list[Any] | int] = []
    for number, operation in enumerate(operations):
        holder = _find_holder(root, operation.path)
        if holder == number:
            found = _find(before, operation.path)
            old.append([orjson.Fragment(orjson.dumps(value)) for value in found])
        else:
            old.append(holder)
    return Changes(build_rows(operations), old)


def _find_holder(root: dict[str | None, Any], path: Sequence[str]) -> int:
    """Return the operation at the shortest path that this one begins with; itself at the latest."""
    node = root
    for segment in path:
        node = node[segment]
        if None in node:
            break
    holder: int = node[None]
    return holder


_ABSENT: Final[Any] = object()


def _compare(
    before: Mapping[str, Any], after: Mapping[str, Any], under: str, found: Changes
) -> None:
    gone = len(before)
    for name, new in after.items():
        old = before.get(name, _ABSENT)
        gone -= old is not _ABSENT
        if name[:1] == "$":
            continue
        if old is _ABSENT:
            found.patch.append({"value": _strip(new), "path": _join(under, name), "op": "add"})
            found.old.append([])
            continue
        kind = type(new)
        if kind is type(old) and kind in _PLAIN:
            if old == new:
                continue
        elif is_same(old, new):
            continue
        elif not under and _is_part(old) and _is_part(new):
            _compare(old, new, _join(under, name), found)
            continue
        found.patch.append({"value": _strip(new), "path": _join(under, name), "op": "replace"})
        found.old.append([old])
    if not gone:  # PERF: of a PUT of the same properties, all were found
        return
    for name in before:
        if name not in after and name[:1] != "$":
            found.patch.append({"path": _join(under, name), "op": "remove"})
            found.old.append([before[name]])


def _join(under: str, name: str) -> str:
    """SPEC: RFC 6901, the escapes of a pointer."""
    return f"{under}/{name.replace('~', '~0').replace('/', '~1')}"


def is_same(old: Any, new: Any) -> bool:
    """NOTE: in Python `True == 1` and `1 == 1.0`; as contents of a twin they differ."""
    if type(old) is not type(new) or old != new:
        return False
    if isinstance(new, dict):
        return all(is_same(old[key], new[key]) for key in new)
    if isinstance(new, list):
        return all(map(is_same, old, new))
    return True


def _is_part(value: Any) -> bool:
    """Return whether it is a stored component: only these have metadata of their own."""
    return isinstance(value, dict) and isinstance(value.get(_METADATA), dict)


def _strip(value: Any) -> Any:
    return (
        {key: item for key, item in value.items() if key != _METADATA} if _is_part(value) else value
    )


def _read_model(document: Document) -> Any:
    metadata = document.get(_METADATA)
    return metadata.get(_MODEL) if isinstance(metadata, dict) else None


def _is_index(segment: str, items: list[Any]) -> bool:
    return segment.isascii() and segment.isdecimal() and int(segment) < len(items)


def _find(document: Any, path: Sequence[str]) -> list[Any]:
    for segment in path:
        if isinstance(document, dict) and segment in document:
            document = document[segment]
        elif isinstance(document, list) and _is_index(segment, document):
            document = document[int(segment)]
        else:
            return []
    return [document]
