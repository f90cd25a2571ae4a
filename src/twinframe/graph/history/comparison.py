"""Compares two documents of a twin or relationship, property by property."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from twinframe.graph.documents.relationships import NAME, TARGET
from twinframe.graph.documents.twins import METADATA, MODEL, SOURCE_TIME
from twinframe.graph.events.changes import is_same
from twinframe.graph.events.event import ABSENT, find_value
from twinframe.model.paths import build_path, split_path

_NOTHING: Final[Mapping[str, Any]] = {}
_LINKS: Final = (NAME, TARGET)


class PropertyChange(NamedTuple):
    """A property before and after, `ABSENT` where there was none.

    `path` are names joined by `/`, as of a series. `source_time` is that of the value after, as the
    caller gave it, or None. Of a component, `{}` stands for the component without its properties.
    """

    path: str
    before: Any
    after: Any
    source_time: str | None = None

    def render(self) -> dict[str, Any]:
        """Build the form in which it is sent."""
        document = {"path": self.path}
        if self.before is not ABSENT:
            document["before"] = self.before
        if self.after is not ABSENT:
            document["after"] = self.after
        if self.source_time is not None:
            document["sourceTime"] = self.source_time
        return document


def compare_documents(
    before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
) -> list[PropertyChange]:
    """Return what changed from one stored document to another; None is no document.

    Etags and the times of writes are left out. The model of a twin, and name and target of a
    relationship, count as properties. Of an object that both have, the members are compared; what
    only one has is a change as a whole, but components are listed by property.
    """
    old, new = before or _NOTHING, after or _NOTHING
    return [*_compare_links(old, new), *_compare_owners(old, new, "")]


def select_changes(changes: Iterable[PropertyChange], path: str) -> list[PropertyChange]:
    """Return the changes at a path and below it, and its part of those above it."""
    found: list[PropertyChange] = []
    for change in changes:
        if change.path == path or change.path.startswith(f"{path}/"):
            found.append(change)
        elif path.startswith(f"{change.path}/"):
            rest = split_path(path.removeprefix(f"{change.path}/"))
            before, after = find_value(change.before, rest), find_value(change.after, rest)
            if not is_same(before, after):
                found.append(PropertyChange(path, before, after, change.source_time))
    return found


def _compare_links(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[PropertyChange]:
    old, new = _read_model(before), _read_model(after)
    if old != new:
        yield PropertyChange(f"{METADATA}/{MODEL}", old, new)
    for name in _LINKS:
        old, new = before.get(name, ABSENT), after.get(name, ABSENT)
        if old != new:
            yield PropertyChange(name, old, new)


def _compare_owners(
    before: Mapping[str, Any], after: Mapping[str, Any], prefix: str
) -> Iterator[PropertyChange]:
    """Compare two twins, relationships or components: what has properties, and their times."""
    for name in dict.fromkeys((*before, *after)):
        if name.startswith("$"):
            continue
        path = build_path(prefix, name)
        old, new = before.get(name, ABSENT), after.get(name, ABSENT)
        old_part, new_part = _find_part(old), _find_part(new)
        if old_part is None and new_part is None:
            times = _read_source_time(before, name), _read_source_time(after, name)
            yield from _compare_values(old, new, path, times)
            continue
        if old_part is None:
            yield PropertyChange(path, old, {})
        yield from _compare_owners(old_part or _NOTHING, new_part or _NOTHING, path)
        if new_part is None:
            yield PropertyChange(path, {}, new)


def _compare_values(
    before: Any, after: Any, path: str, times: tuple[str | None, str | None]
) -> Iterator[PropertyChange]:
    if is_same(before, after):
        if times[0] != times[1]:
            yield PropertyChange(path, before, after, times[1])
    elif isinstance(before, dict) and isinstance(after, dict):
        for name in dict.fromkeys((*before, *after)):
            old, new = before.get(name, ABSENT), after.get(name, ABSENT)
            if not is_same(old, new):
                yield from _compare_values(old, new, build_path(path, name), times)
    else:
        yield PropertyChange(path, before, after, times[1])


def _find_part(value: Any) -> Mapping[str, Any] | None:
    """Return the component that it is: only stored components have metadata of their own."""
    return value if isinstance(value, dict) and isinstance(value.get(METADATA), dict) else None


def _read_model(document: Mapping[str, Any]) -> Any:
    metadata = document.get(METADATA)
    return metadata.get(MODEL, ABSENT) if isinstance(metadata, dict) else ABSENT


def _read_source_time(owner: Mapping[str, Any], name: str) -> str | None:
    entry = owner.get(METADATA, _NOTHING).get(name)
    return entry.get(SOURCE_TIME) if isinstance(entry, dict) else None
