"""JSON Patch in the vendor's subset: strict checks before the `jsonpatch` library.

The caller decides which paths a document protects.

SPEC: RFC 6902 without `move`, `copy` and `test`; RFC 6901 pointers. Without `copy` and `move` a
result is never larger than document and patch together, so the body limit bounds it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal, NoReturn, cast

import jsonpatch
import jsonpointer
import orjson

from twinframe.errors import JsonPatchInvalid, PatchNotObjects
from twinframe.model.paths import BAD_ESCAPE
from twinframe.model.values import JsonValue

Verb = Literal["add", "replace", "remove"]

_VERBS: Final[dict[str, Callable[[Any], jsonpatch.PatchOperation]]] = {
    "add": jsonpatch.AddOperation,
    "replace": jsonpatch.ReplaceOperation,
    "remove": jsonpatch.RemoveOperation,
}
_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,8}", re.ASCII)
_MOST_SEGMENTS: Final = 128
"""SEC: a thousand paths of thousands of segments took the interpreter for 100 ms. No document has
such members: DTDL nests schemas at most 8 levels deep.
"""


@dataclass(frozen=True, slots=True)
class PatchOperation:
    """One operation. `path`: its unescaped segments, at least one; `index`: its index in the patch.

    `value` is never changed by applying it.
    """

    index: int
    verb: Verb
    path: tuple[str, ...]
    value: JsonValue = None

    @property
    def pointer(self) -> str:
        """The path as a JSON pointer."""
        return render_pointer(self.path)

    def refuse(self, reason: str) -> NoReturn:
        """Raise `JsonPatchInvalid` naming this operation."""
        raise JsonPatchInvalid(
            f"Operation {self.index} ({self.verb} {_shown(self.pointer)}) is refused: {reason}"
        )

    def refuse_missing(self, segment: str) -> NoReturn:
        """Raise `JsonPatchInvalid` because the target does not exist."""
        self.refuse(
            f"The target location specified by path segment '{_shown(segment)}' was not found."
        )


def render_pointer(path: Iterable[str]) -> str:
    """Render segments as a JSON pointer (RFC 6901)."""
    return "".join("/" + segment.replace("~", "~0").replace("/", "~1") for segment in path)


def parse_patch(
    patch: JsonValue, *, max_operations: int, under: tuple[str, ...] = ()
) -> tuple[PatchOperation, ...]:
    """Parse the operations of a patch, each checked by itself; `under` is prefixed to every path.

    Errors: `PatchNotObjects` for elements that are not objects, else `JsonPatchInvalid`.
    """
    if not isinstance(patch, list):
        raise JsonPatchInvalid("A JSON Patch is an array of operations.")
    if len(patch) > max_operations:
        raise JsonPatchInvalid(
            f"The patch has {len(patch)} operations; at most {max_operations} are allowed."
        )
    strays = tuple(at for at, element in enumerate(patch) if not isinstance(element, dict))
    if strays:
        raise PatchNotObjects("The elements of a JSON Patch must be objects.", positions=strays)
    return tuple(
        _parse_operation(at, cast("dict[str, JsonValue]", element), under)
        for at, element in enumerate(patch)
    )


def apply_operation(document: dict[str, JsonValue], operation: PatchOperation) -> None:
    """Apply one operation to `document`, in place; an error leaves it unchanged.

    Raises `JsonPatchInvalid` when the target of a `replace` or `remove`, or the parent of an `add`,
    is missing.
    """
    target, last = _find_target(document, operation), operation.path[-1]
    if isinstance(target, dict):  # PERF: the library takes 10 us for what is one assignment here
        if operation.verb == "remove":
            del target[last]
        else:
            target[last] = _copy(operation.value)
        return
    element: dict[str, Any] = {"op": operation.verb, "path": operation.pointer}
    if operation.verb != "remove":
        # NOTE: older releases of the library put the patch's own value into the document.
        element["value"] = _copy(operation.value)
    try:
        _VERBS[operation.verb](element).apply(document)
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException) as error:
        operation.refuse(str(error))
    except (TypeError, KeyError, IndexError, ValueError, AttributeError) as error:
        # The library accepts these for targets of an odd type; the checks above exclude them.
        operation.refuse(f"it cannot be applied to the document ({type(error).__name__}).")


def apply_patch(
    document: dict[str, JsonValue], operations: Iterable[PatchOperation]
) -> dict[str, JsonValue]:
    """Return a changed copy of `document`, which is not changed itself."""
    changed = cast("dict[str, JsonValue]", _copy(document))
    for operation in operations:
        apply_operation(changed, operation)
    return changed


def _parse_operation(
    at: int, element: dict[str, JsonValue], under: tuple[str, ...]
) -> PatchOperation:
    verb = element.get("op")
    if verb is None or verb == "":
        raise JsonPatchInvalid(f"Operation {at}: Parameter op must not be empty.")
    if not isinstance(verb, str) or verb not in _VERBS:
        raise JsonPatchInvalid(
            f"Operation {at}: Unsupported operation type {_shown(str(verb))}. "
            "Supported are add, replace and remove."
        )
    path = under + _parse_pointer(at, element.get("path"))
    if verb == "remove":
        return PatchOperation(at, "remove", path)
    if "value" not in element:
        raise JsonPatchInvalid(f"Operation {at}: {verb} needs a value.")
    return PatchOperation(at, cast("Verb", verb), path, element["value"])


def _parse_pointer(at: int, pointer: JsonValue) -> tuple[str, ...]:
    if pointer is None:
        raise JsonPatchInvalid(f"Operation {at}: Parameter path must not be empty.")
    if not isinstance(pointer, str):
        raise JsonPatchInvalid(f"Operation {at}: path must be a string.")
    if not pointer:
        raise JsonPatchInvalid(f"Operation {at}: the whole document cannot be patched away.")
    if not pointer.startswith("/"):
        raise JsonPatchInvalid(
            f"Operation {at}: the path {_shown(pointer)} must start with /, "
            f"such as {_shown('/' + pointer)}."
        )
    if pointer.count("/") > _MOST_SEGMENTS:
        raise JsonPatchInvalid(
            f"Operation {at}: the path {_shown(pointer)} has {pointer.count('/'):,} segments; "
            f"at most {_MOST_SEGMENTS} are allowed."
        )
    if BAD_ESCAPE.search(pointer):
        raise JsonPatchInvalid(
            f"Operation {at}: in the path {_shown(pointer)} a ~ is not followed by 0 or 1."
        )
    return tuple(
        segment.replace("~1", "/").replace("~0", "~") for segment in pointer[1:].split("/")
    )


def _find_target(document: JsonValue, operation: PatchOperation) -> JsonValue:
    """Return the object or array in which the operation changes a member.

    Refuses a missing target, so that the library only gets targets that it can handle.
    """
    target = document
    for segment in operation.path[:-1]:
        target = _step(target, segment, operation)
    last = operation.path[-1]
    if operation.verb != "add":
        _step(target, last, operation)
    elif isinstance(target, list):
        if last != "-" and not (_INDEX.fullmatch(last) and int(last) <= len(target)):
            operation.refuse(
                f"'{_shown(last)}' is no index to add at in an array of {len(target)} items."
            )
    elif not isinstance(target, dict):
        operation.refuse_missing(last)
    return target


def _step(target: JsonValue, segment: str, operation: PatchOperation) -> JsonValue:
    if isinstance(target, dict) and segment in target:
        return target[segment]
    if isinstance(target, list) and _INDEX.fullmatch(segment) and int(segment) < len(target):
        return target[int(segment)]
    return operation.refuse_missing(segment)


def _copy(value: JsonValue) -> JsonValue:
    """Return an equal value that shares no array or object with it."""
    if isinstance(value, (dict, list)):
        return cast("JsonValue", orjson.loads(orjson.dumps(value)))
    return value


def _shown(text: str) -> str:
    return text if len(text) <= 100 else f"{text[:100]}..."
