"""Lists the settings in force, with the source of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import SecretStr

from twinframe.errors.masking import MASK, mask_secrets
from twinframe.settings.load import DEFAULT_ORIGIN, Configuration
from twinframe.settings.section import Section
from twinframe.settings.shape import KeyPath, read_keys


@dataclass(frozen=True, slots=True)
class EffectiveSetting:
    """One setting in force; a secret's `value` is masked, or empty when it is not set."""

    path: KeyPath
    value: object
    origin: str


def list_effective(configuration: Configuration) -> tuple[EffectiveSetting, ...]:
    """List all settings in force, in the order of the tree; sections of plugins come last."""
    roots: list[tuple[KeyPath, Section]] = [((), configuration.settings)]
    roots += configuration.sections.items()
    return tuple(
        EffectiveSetting(at, value, configuration.origins.get(at, DEFAULT_ORIGIN))
        for path, section in roots
        for at, value in _list_values(section, path)
    )


def _list_values(section: Section, path: KeyPath) -> Iterator[tuple[KeyPath, object]]:
    for field, key in zip(
        type(section).model_fields, read_keys(type(section)).values(), strict=True
    ):
        value: object = getattr(section, field)
        at = (*path, key.name)
        if isinstance(value, Section):
            yield from _list_values(value, at)
        else:
            yield at, _build_shown(section, field, value)


def _build_shown(section: Section, field: str, value: object) -> object:
    if isinstance(value, SecretStr):
        return MASK if value.get_secret_value() else ""
    return _mask(section.model_dump(mode="json", include={field})[field])


def _mask(value: object) -> object:
    if isinstance(value, str):
        return mask_secrets(value)
    if isinstance(value, list):
        return [_mask(each) for each in value]
    if isinstance(value, dict):
        return {name: _mask(each) for name, each in value.items()}
    return value
