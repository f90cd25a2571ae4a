"""What a write changed: the patch that leads from one document to the next, and what it replaced.

It knows no store and writes no event.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from twinframe.model.patches import PatchOperation, Verb
from twinframe.model.values import JsonValue

Document = Mapping[str, JsonValue]

_METADATA: Final = "$metadata"
_MODEL: Final = "$model"


def build_patch(before: Document, after: Document) -> tuple[PatchOperation, ...]:
    """The operations that make the contents of a stored document those of another.

    Properties are replaced as a whole, those of components one by one; the service's own members
    (`$etag`, times) are left out, but for a twin's model. Order: that of `after`, removals last.
    """
    operations: list[PatchOperation] = []

    def add(verb: Verb, path: tuple[str, ...], value: JsonValue = None) -> None:
        operations.append(PatchOperation(len(operations), verb, path, value))

    model = _read_model(after)
    if model is not None and model != _read_model(before):
        add("replace", (_METADATA, _MODEL), model)
    for path, old, new in _compare(before, after):
        if new is _ABSENT:
            add("remove", path)
        else:
            add("add" if old is _ABSENT else "replace", path, new)
    return tuple(operations)


def read_old_values(before: Document, operations: Iterable[PatchOperation]) -> list[list[Any]]:
    """For each operation the value at its path before all of them: `[value]`, or `[]` for none."""
    return [_find(before, operation.path) for operation in operations]


_ABSENT: Final[Any] = object()


def _compare(
    before: Mapping[str, Any], after: Mapping[str, Any], under: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    for name, new in after.items():
        if name.startswith("$"):
            continue
        old = before.get(name, _ABSENT)
        if _is_part(old) and _is_part(new) and not under:
            yield from _compare(old, new, (name,))
        elif not _is_same(old, new):
            yield (*under, name), old, _strip(new)
    for name in before:
        if name not in after and not name.startswith("$"):
            yield (*under, name), before[name], _ABSENT


def _is_same(old: Any, new: Any) -> bool:
    """NOTE: to Python `True == 1` and `1 == 1.0`; as contents of a twin they are not the same."""
    if type(old) is not type(new):
        return False
    if isinstance(new, dict):
        return old.keys() == new.keys() and all(_is_same(old[key], new[key]) for key in new)
    if isinstance(new, list):
        return len(old) == len(new) and all(map(_is_same, old, new))
    return bool(old == new)


def _is_part(value: Any) -> bool:
    """Whether it is a stored component: these alone have metadata of their own."""
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
