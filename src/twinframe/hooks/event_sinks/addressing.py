"""Fills templates of broker topics and subjects with attributes of an event."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from twinframe.hooks.event_sinks.base import Message

_PLACE: Final = re.compile(r"\{([a-z]*)\}")
PLACEHOLDERS: Final = ("type", "key", "subject", "source")
"""The names that a template may have in braces: `key` is the id of the twin."""


def check_template(template: str, refused: str) -> str:
    """Return the template unchanged.

    Raises `ValueError` for an unknown name, or a character of `refused` outside of braces.
    """
    for name in _PLACE.findall(template):
        if name not in PLACEHOLDERS:
            known = ", ".join(f"{{{place}}}" for place in PLACEHOLDERS)
            raise ValueError(f"knows no {{{name}}}, only {known}")
    rest = _PLACE.sub("", template)
    found = next((char for char in rest if char in refused or not char.isprintable()), None)
    if not template or found is not None:
        raise ValueError("must not be empty" if not template else f"must not contain {found!a}")
    return template


def fill_template(template: str, message: Message, special: Collection[str]) -> str:
    """Return the template with its names replaced.

    SEC: the ids in an event are chosen by its author: characters with a meaning in an address
    (`special`), blanks and unprintable characters are percent-encoded, so that an id stays one
    level of it. The event type is defined by the service and not encoded. An empty value becomes
    `-`.
    """
    values = {
        "type": message.type,
        "key": _escape(message.key, special),
        "subject": _escape(message.subject, special),
        "source": _escape(message.source, special),
    }
    return _PLACE.sub(lambda place: values[place[1]] or "-", template)


def _escape(text: str, special: Collection[str]) -> str:
    return "".join(
        _encode(char) if char in special or char in "% " or not char.isprintable() else char
        for char in text
    )


def _encode(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode())
