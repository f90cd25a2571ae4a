"""Renders what a write changes, for an assistant, as differences of documents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import orjson

from twinframe.mcp.budget import Budget, Shortening, measure
from twinframe.model.values import JsonValue
from twinframe.storage.base import StoredDocument

_MOST: Final = 40
_DEEPEST: Final = 4
_PASSED_OVER: Final = frozenset({"$etag", "$lastUpdateTime"})
_METADATA: Final = "$metadata"
_LONGEST: Final = 200


def render_changes(before: StoredDocument | None, after: StoredDocument | None) -> list[JsonValue]:
    """List the members that differ, each `{path, from?, to?}`; at most forty, then how many more.

    A document that was created or deleted as a whole is one change, at the path ``.
    """
    if before is None or after is None:
        short = Shortening(longest_text=_LONGEST)
        change: dict[str, JsonValue] = {"path": ""}
        if before is not None:
            change["from"] = _without_etag(short.shorten(_load(before)))
        if after is not None:
            change["to"] = _without_etag(short.shorten(_load(after)))
        return [change] if len(change) > 1 else []
    found = list(_compare(_load(before), _load(after), "", 0))
    if len(found) > _MOST:
        return [*found[:_MOST], {"path": f"… {len(found) - _MOST} more changes"}]
    return found


def fit_changes(changes: list[JsonValue], size: int) -> list[JsonValue]:
    """Return the changes in at most this many bytes: long values shortened, then the last ones
    counted.
    """
    part = Budget(1, size // 4, Shortening(longest_text=_LONGEST))
    fitting: list[JsonValue] = []
    left = size
    for at, change in enumerate(changes):
        if isinstance(change, dict):
            change = {
                name: value if name == "path" else part.cut(value) for name, value in change.items()
            }
        left -= measure(change) + 1
        if left < 0:
            return [*fitting, {"path": f"… {len(changes) - at} more changes"}]
        fitting.append(change)
    return fitting


def hide_changes(permission: str) -> list[JsonValue]:
    """Return the replacement of the changes for a caller that may not read them."""
    return [{"path": f"… not shown: this needs the permission {permission}"}]


def name_action(before: StoredDocument | None, after: StoredDocument | None) -> str:
    """Name the action: `created`, `replaced` or `deleted`."""
    if before is None:
        return "created"
    return "deleted" if after is None else "replaced"


def _compare(before: JsonValue, after: JsonValue, path: str, depth: int) -> Iterator[JsonValue]:
    if before == after and type(before) is type(after):
        return
    if isinstance(before, dict) and isinstance(after, dict) and depth < _DEEPEST:
        for name in dict.fromkeys([*before, *after]):
            if name in _PASSED_OVER:
                continue
            inner = f"{path}/{name}"
            if name == _METADATA:
                yield from _compare_model(before.get(name), after.get(name), inner)
            elif name not in after:
                yield _build_change(inner, before[name], None)
            elif name not in before:
                yield _build_change(inner, None, after[name])
            else:
                yield from _compare(before[name], after[name], inner, depth + 1)
        return
    yield _build_change(path, before, after)


def _compare_model(before: JsonValue, after: JsonValue, path: str) -> Iterator[JsonValue]:
    """Compare metadata: only the model is a change; the times follow from the others."""
    models = [one.get("$model") if isinstance(one, dict) else None for one in (before, after)]
    if models[0] != models[1]:
        yield _build_change(f"{path}/$model", models[0], models[1])


def _build_change(path: str, before: JsonValue, after: JsonValue) -> JsonValue:
    short = Shortening(longest_text=_LONGEST)
    change: dict[str, JsonValue] = {"path": path}
    if before is not None:
        change["from"] = short.shorten(before)
    if after is not None:
        change["to"] = short.shorten(after)
    return change


def _without_etag(document: JsonValue) -> JsonValue:
    """NOTE: that of a rehearsal was never stored, and that of a deleted document is useless."""
    if isinstance(document, dict):
        return {name: value for name, value in document.items() if name != "$etag"}
    return document


def _load(document: StoredDocument) -> JsonValue:
    loaded: JsonValue = orjson.loads(document.body)
    return loaded
