"""Describes a section class: its keys, and their types in words."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin

import annotated_types
from pydantic import SecretStr
from pydantic.fields import FieldInfo

from twinframe.settings.section import Section

KeyPath = tuple[str, ...]
"""The names of a key from the root of the tree, as documented: `("Server", "Tls", "Key")`."""


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a section: its documented name, and the section below it if it is one."""

    name: str
    info: FieldInfo
    section: type[Section] | None

    @property
    def secret(self) -> bool:
        """Whether the value must never be shown."""
        return _holds_secret(self.info.annotation)

    @property
    def takes_list(self) -> bool:
        """Whether the value is a list, so that indexes may follow the name."""
        return _container(self.info.annotation) in (tuple, list, set, frozenset)

    @property
    def takes_mapping(self) -> bool:
        """Whether the value is an object with free keys."""
        return _container(self.info.annotation) in (dict, Mapping)

    @property
    def takes_mappings(self) -> bool:
        """Whether the value is an object with free keys whose values are such objects."""
        if not self.takes_mapping:
            return False
        return _container(get_args(self.info.annotation)[1]) in (dict, Mapping)


@cache
def read_keys(model: type[Section]) -> dict[str, Key]:
    """Return the keys of a section by their case-folded name, in the order of the class."""
    keys = {}
    for field, info in model.model_fields.items():
        name = info.alias or field
        keys[name.casefold()] = Key(name, info, _as_section(info.annotation))
    return keys


def render_key(path: KeyPath) -> str:
    """Render the key as it is written in the environment."""
    return "__".join(path)


def render_type(info: FieldInfo) -> str:
    """Describe the values that a key accepts, in words that complete «must be …»."""
    return _describe(info.annotation, tuple(info.metadata))


def _describe(annotation: object, metadata: tuple[object, ...]) -> str:
    origin = get_origin(annotation)
    if origin is Literal:
        return "one of " + ", ".join(str(choice) for choice in get_args(annotation))
    if origin in (Union, types.UnionType):
        parts = [part for part in get_args(annotation) if part is not type(None)]
        return " or ".join(_describe(part, metadata) for part in parts)
    if origin in (tuple, list, set, frozenset):
        return "a list, each " + _describe(get_args(annotation)[0], ())
    if origin in (dict, Mapping):
        return "an object"
    name = _NAMES.get(annotation, getattr(annotation, "__name__", str(annotation)))
    return name + _bounds(metadata)


_NAMES: dict[object, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "text",
    SecretStr: "text (secret)",
}


def _bounds(metadata: tuple[object, ...]) -> str:
    words = [_bound(item) for item in metadata]
    return "".join(f", {word}" for word in words if word)


def _bound(item: object) -> str:
    match item:
        case annotated_types.Gt(gt=limit):
            return f"above {limit}"
        case annotated_types.Ge(ge=limit):
            return f"{limit} or more"
        case annotated_types.Lt(lt=limit):
            return f"below {limit}"
        case annotated_types.Le(le=limit):
            return f"at most {limit}"
        case annotated_types.MinLen(min_length=limit):
            return f"at least {limit} long"
        case annotated_types.MaxLen(max_length=limit):
            return f"at most {limit} long"
    return ""


def _as_section(annotation: object) -> type[Section] | None:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation
    return None


def _container(annotation: Any) -> object:
    return get_origin(annotation) or annotation


def _holds_secret(annotation: object) -> bool:
    return annotation is SecretStr or any(_holds_secret(part) for part in get_args(annotation))
