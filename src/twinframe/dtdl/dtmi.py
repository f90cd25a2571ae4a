"""Digital Twin Model Identifiers: their grammar in each language version, and their parts."""

from __future__ import annotations

import re

# SPEC: a segment that begins with underscores is a system segment: `_16`, `_contents`, `__name`.
_SEGMENT = r"(?:_+[A-Za-z0-9]|[A-Za-z])(?:[A-Za-z0-9_]*[A-Za-z0-9])?"
_USER_SEGMENT = r"[A-Za-z](?:[A-Za-z0-9_]*[A-Za-z0-9])?"
_PATH = rf"dtmi:{_USER_SEGMENT}(?::{_USER_SEGMENT})*"
_MAJOR = r"[1-9][0-9]{0,8}"
_MINOR = r"[1-9][0-9]{0,5}"

# SPEC: DTDL v2 "Digital Twin Model Identifier": one mandatory scalar version.
SCALAR_VERSION = re.compile(rf"{_PATH};{_MAJOR}")
# SPEC: DTDL v3 "Digital Twin Model Identifier": version optional, `major` or `major.minor`.
DOTTED_VERSION = re.compile(rf"{_PATH}(?:;{_MAJOR}(?:\.{_MINOR})?)?")
# Any well-formed identifier, reserved segments (leading underscore) and fragments included.
ANY = re.compile(
    rf"dtmi:(?P<path>{_SEGMENT}(?::{_SEGMENT})*)"
    rf"(?:;(?P<version>{_MAJOR}(?:\.{_MINOR})?))?"
    rf"(?P<fragment>#(?:{_SEGMENT})?)?"
)

MAX_LENGTH = 2048
"""Characters in the identifier of any element; an Interface has a lower bound of its own."""


def is_dtmi(text: str) -> bool:
    """Return whether `text` is a well-formed identifier of any version, including reserved ones."""
    return ANY.fullmatch(text) is not None


def parse_name(dtmi: str) -> str:
    """Return the last path segment: `Room` of `dtmi:com:example:Room;1`."""
    path = dtmi.partition("#")[0].partition(";")[0]
    return path.rpartition(":")[2]


def parse_version(dtmi: str) -> str:
    """Return the version text after the semicolon, or an empty string where there is none."""
    return dtmi.partition("#")[0].partition(";")[2]


def parse_versionless(dtmi: str) -> str:
    """Return the identifier without its version: `dtmi:com:example:Room`; a fragment stays."""
    identifier, mark, fragment = dtmi.partition("#")
    return f"{identifier.partition(';')[0]}{mark}{fragment}"


def build_child(parent: str, property_name: str, name: str | None) -> str:
    """Return the identifier of an element that has none of its own.

    `dtmi:a:b;1` with property `contents` and name `c` gives `dtmi:a:b:_contents:__c;1`.
    """
    path, semicolon, version = parent.partition(";")
    discriminator = f":__{name}" if name else ""
    return f"{path}:_{property_name}{discriminator}{semicolon}{version}"
