"""Parses and validates the bodies of POST and PUT requests for a resource."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar, cast

from twinframe.control.records.names import parse_id, parse_name
from twinframe.errors import ErrorDetail, InputError, LimitExceeded, ValidationFailed
from twinframe.errors.nearest import render_hint
from twinframe.hooks.resource_types.base import ResourceTypeRegistry
from twinframe.hooks.resource_types.prices import Sku
from twinframe.model.json import JsonLimits, parse_json
from twinframe.model.values import JsonValue

T = TypeVar("T")

_INVALID: Final = "InvalidArgument"
_CREATE: Final = ("id", "name", "type", "sku", "settings_json")
_UPDATE: Final = ("name", "sku", "settings_json")
_FIXED: Final = ("resource_id", "project_id", "type")
_GIVEN_BACK: Final = ("status", "created_at", "updated_at", "error_message", "access_url")
_BLANKS: Final = re.compile(r"[ \t\n\r]*")
_DECODER: Final = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class ResourceDraft:
    """A resource to be created. `incarnation` is new and unguessable."""

    id: str
    incarnation: str
    name: str
    type: str
    sku: Sku
    settings_json: str


@dataclass(frozen=True, slots=True)
class ResourceChange:
    """The requested change; None stays. `fixed` must be what the resource has already."""

    name: str | None = None
    sku: Sku | None = None
    settings_json: str | None = None
    fixed: Mapping[str, JsonValue] | None = None


class _Findings:
    """All errors of one body, so that the client gets them at once."""

    def __init__(
        self, members: Mapping[str, JsonValue], known: Sequence[str], some: Sequence[str]
    ) -> None:
        self._members = members
        self._details: list[ErrorDetail] = []
        for name in members:
            if name not in known:
                self._add(name, _render_unknown(name, known))
        if some and not any(name in members for name in some):
            self._details.append(ErrorDetail(_INVALID, f"Give at least one of {', '.join(some)}."))

    def read_text(self, member: str) -> str:
        """Return the text of a member, empty if it is none."""
        value = self._members.get(member)
        if isinstance(value, str):
            return value
        self._add(member, "must be a text." if member in self._members else "is missing.")
        return ""

    def read_sku(self, default: Sku) -> Sku:
        """Return the requested sku, or the default."""
        value = self._members.get("sku", default)
        if value in list(Sku):
            return Sku(str(value))
        self._add("sku", f"must be one of {', '.join(Sku)}.")
        return default

    def check(self, member: str, parse: Callable[[], T]) -> T | None:
        """Return the result of `parse`; None after recording its error."""
        if any(detail.message.startswith(f"{member} ") for detail in self._details):
            return None  # it is known to be wrong
        try:
            return parse()
        except ValidationFailed as error:
            self._details += error.details or [ErrorDetail(_INVALID, f"{member} {error.message}")]
        except InputError as error:
            self._add(member, f"is refused. {error.message}")
        return None

    def refuse_all(self, message: str) -> None:
        """Raise `ValidationFailed` if there are errors."""
        if self._details:
            raise ValidationFailed(message, details=tuple(self._details))

    def _add(self, member: str, text: str) -> None:
        self._details.append(ErrorDetail(_INVALID, f"{member} {text}"))


class RequestReader:
    """Reads bodies for the known resource types; `max_bytes` bounds `settings_json`."""

    def __init__(self, types: ResourceTypeRegistry, limits: JsonLimits, max_bytes: int) -> None:
        self._types = types
        self._limits = limits
        self._max_bytes = max_bytes

    def parse_create(self, body: bytes) -> ResourceDraft:
        """Parse a draft of POST. Raises `ValidationFailed` with all errors in `details`."""
        found = _Findings(self._parse_object(body), _CREATE, ())
        id_, name, type_ = (found.read_text(member) for member in ("id", "name", "type"))
        settings = self.read_settings_text(body, found)
        found.check("id", lambda: parse_id("a resource", id_))
        name = found.check("name", lambda: parse_name("a resource", name)) or ""
        kind = found.check("type", lambda: self._types.find(type_))
        if kind is not None and settings is not None:
            document = parse_settings_document(settings)
            found.check("settings_json", lambda: kind.parse_settings(document))
        sku = found.read_sku(Sku.FREE)
        found.refuse_all("The resource cannot be created as described.")
        return ResourceDraft(id_, secrets.token_hex(8), name, type_, sku, settings or "{}")

    def parse_update(self, body: bytes) -> ResourceChange:
        """Parse a change of PUT; its settings are checked when the type is known. Raises likewise.

        A resource may be sent back as it was read: immutable members must then be unchanged, and
        derived ones are ignored.
        """
        members = self._parse_object(body)
        found = _Findings(members, (*_UPDATE, *_FIXED, *_GIVEN_BACK), _UPDATE)
        name = found.read_text("name") if "name" in members else None
        if name is not None:
            name = found.check("name", lambda: parse_name("a resource", str(name)))
        sku = found.read_sku(Sku.FREE) if "sku" in members else None
        has_settings = "settings_json" in members
        settings = self.read_settings_text(body, found) if has_settings else None
        found.refuse_all("The resource cannot be changed as described.")
        fixed: dict[str, JsonValue] = {
            member: members[member] for member in _FIXED if member in members
        }
        return ResourceChange(name, sku, settings, fixed)

    def read_settings_text(self, body: bytes, found: _Findings) -> str | None:
        """Return the text of `settings_json` as it is in the body; `{}` when it is left out."""
        text = read_member_text(body.decode(), "settings_json")
        if text is None:
            return "{}"
        if len(text.encode()) > self._max_bytes:
            raise LimitExceeded(
                f"settings_json has {len(text.encode())} bytes; at most {self._max_bytes} are "
                "allowed (Control__MaxSettingsBytes)."
            )
        document = found.check("settings_json", lambda: parse_settings_document(text))
        return None if document is None else text

    def _parse_object(self, body: bytes) -> dict[str, JsonValue]:
        document = parse_json(body, self._limits)
        if isinstance(document, dict):
            return document
        raise ValidationFailed("The body must be a JSON object.")


def parse_settings_document(text: str) -> dict[str, JsonValue]:
    """Parse the settings in a `settings_json`: an object, or a text that holds one.

    Raises `ValidationFailed`, or `InvalidArgument` for a text that is not JSON.
    """
    value: JsonValue = json.loads(text)
    if isinstance(value, str):
        if not value.strip():
            raise ValidationFailed("is an empty text. Write {} for no settings.")
        value = parse_json(value.encode(), JsonLimits())
    if isinstance(value, dict):
        return value
    raise ValidationFailed("must be an object, or a text that holds one.")


def read_member_text(text: str, member: str) -> str | None:
    """Return the text of one member's value in the text of a JSON object; None without that member.

    NOTE: `text` was parsed before, so it is known to be a valid object.
    """
    at = _skip_blanks(text, 0) + 1
    while text[at := _skip_blanks(text, at)] != "}":
        key, at = cast("tuple[str, int]", _DECODER.raw_decode(text, at))
        start = _skip_blanks(text, _skip_blanks(text, at) + 1)
        _, end = _DECODER.raw_decode(text, start)
        if key == member:
            return text[start:end]
        at = _skip_blanks(text, end)
        at += text[at] == ","
    return None


def _render_unknown(name: str, known: Sequence[str]) -> str:
    return f"is no member of this body. {render_hint(name, known)}"


def _skip_blanks(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return at if found is None else found.end()
