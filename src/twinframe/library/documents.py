"""Converts what Python code passes in and gets back to JSON, by the rules of request bodies."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, TypeAlias, cast

import orjson

from twinframe.errors import InvalidArgument
from twinframe.graph.history.history import Asked
from twinframe.http.bodies import LARGE_BODY, Bodies
from twinframe.model.values import JsonValue
from twinframe.runtime.memory import MemoryAccount
from twinframe.settings import Settings

Document: TypeAlias = dict[str, Any]
"""A JSON object as Python has it: str, int, float, bool, None, list and dict."""

AsOf: TypeAlias = str | int | datetime
"""A moment with an offset, or the position of an event; see the `asOf` of the interface."""


_BINARY: Final = (bytes, bytearray, memoryview)


class JsonReader:
    """Reads values of Python code as the service reads request bodies, with the same limits."""

    def __init__(self, settings: Settings) -> None:
        self._bodies = Bodies(settings, MemoryAccount())

    async def read(self, value: object) -> JsonValue:
        """Return a copy of the value that JSON can hold. Errors: `InvalidArgument`.

        Tuples are arrays, times of `datetime` texts of ISO 8601, numbers of numpy numbers.
        """
        body = _render(value)
        if len(body) <= LARGE_BODY:
            return self._bodies.parse(body)
        parsed, hold = await self._bodies.parse_large(body)
        hold.release()
        return parsed

    async def read_parameters(self, parameters: Mapping[str, object] | None) -> Document:
        """Return the parameters of a query. Errors: `InvalidArgument`."""
        if parameters is None:
            return {}
        if not isinstance(parameters, Mapping):
            raise InvalidArgument("parameters must be a mapping of names to values.")
        return cast("Document", await self.read(dict(parameters)))


def parse_documents(texts: Sequence[bytes]) -> list[Document]:
    """Return the objects of JSON texts."""
    return cast("list[Document]", orjson.loads(b"[%b]" % b",".join(texts)))


def build_asked(as_of: AsOf) -> Asked:
    """Return a state as use cases name it. Errors: `InvalidArgument` for a time without offset."""
    if not isinstance(as_of, datetime):
        return as_of
    if as_of.tzinfo is None:
        raise InvalidArgument(
            f"as_of {as_of.isoformat()} has no offset: give the datetime a tzinfo, such as "
            "datetime.UTC."
        )
    return as_of.isoformat()


def _render(value: object) -> bytes:
    try:
        text = orjson.dumps(value, _build_part, orjson.OPT_SERIALIZE_NUMPY)
    except orjson.JSONEncodeError as error:
        if "64-bit" in str(error):  # what is read from JSON text becomes a double, too
            return _render_large_integers(value)
        raise InvalidArgument(f"The value cannot be written as JSON: {error}.") from error
    if b"null" in text:  # NOTE: a float that JSON has no number for is written as null
        _check_numbers(value)
    return text


def _render_large_integers(value: object) -> bytes:
    try:
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError) as error:
        raise InvalidArgument(f"The value cannot be written as JSON: {error}.") from error


def _build_part(part: Any) -> Any:
    """Convert what JSON does not have."""
    if isinstance(part, Mapping):
        return dict(part)
    if isinstance(part, Sequence) and not isinstance(part, _BINARY):
        return list(part)
    raise TypeError(f"a {type(part).__name__} is no JSON value")


def _check_numbers(value: Any) -> None:
    """Raise `InvalidArgument` for a number that is none."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidArgument(f"The value {value} is no number that JSON can hold.")
    elif isinstance(value, Mapping):
        for part in value.values():
            _check_numbers(part)
    elif isinstance(value, str | bytes):
        return
    elif isinstance(value, Sequence):
        for part in value:
            _check_numbers(part)
    elif hasattr(value, "tolist"):
        _check_numbers(value.tolist())
