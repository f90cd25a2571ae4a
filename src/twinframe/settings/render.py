"""Renders settings as text: the effective tree with sources, and the reference page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from inspect import getdoc

from pydantic import SecretStr

from twinframe.errors.masking import MASK, mask_secrets
from twinframe.settings.load import DEFAULT_ORIGIN, Configuration
from twinframe.settings.section import Section
from twinframe.settings.shape import Key, KeyPath, read_keys, render_key, render_type
from twinframe.settings.tree import Settings


@dataclass(frozen=True, slots=True)
class EffectiveSetting:
    """One setting in force; a secret's `value` is masked, or empty when it is not set."""

    path: KeyPath
    value: object
    origin: str


@dataclass(frozen=True, slots=True)
class PluginReference:
    """A plugin's section for the reference page: its path and its distribution."""

    path: KeyPath
    model: type[Section]
    distribution: str


def list_effective(configuration: Configuration) -> tuple[EffectiveSetting, ...]:
    """List all settings in force, in the order of the tree; sections of plugins come last."""
    roots: list[tuple[KeyPath, Section]] = [((), configuration.settings)]
    roots += configuration.sections.items()
    return tuple(
        EffectiveSetting(at, value, configuration.origins.get(at, DEFAULT_ORIGIN))
        for path, section in roots
        for at, value in _list_values(section, path)
    )


def render_reference(plugins: Iterable[PluginReference]) -> str:
    """Render the page `docs/reference/settings.md`."""
    parts = [_INTRODUCTION]
    for key in read_keys(Settings).values():
        if key.section is not None:
            parts += _render_section(key.section, (key.name,), "")
    for plugin in plugins:
        note = f"Comes with `{plugin.distribution}`."
        parts += _render_section(plugin.model, plugin.path, note)
    return "\n".join(parts) + "\n"


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


def _render_section(model: type[Section], path: KeyPath, note: str) -> list[str]:
    title = ".".join(path).replace("<", "\\<")  # else it is read as an HTML tag
    lines = [f"## {title}", "", (getdoc(model) or "").partition("\n\n")[0]]
    if note:
        lines += ["", note]
    keys = read_keys(model).values()
    nested = [key for key in keys if key.section is not None]
    if len(nested) < len(keys):
        lines += [
            "",
            "| key in the environment | type | default | meaning |",
            "| --- | --- | --- | --- |",
        ]
        lines += [_render_row(path, key) for key in keys if key.section is None]
    lines.append("")
    for key in nested:
        if key.section is not None:
            lines += _render_section(key.section, (*path, key.name), "")
    return lines


def _render_row(path: KeyPath, key: Key) -> str:
    meaning = " ".join((key.info.description or "").split())
    cells = (
        f"`{render_key((*path, key.name))}`",
        render_type(key.info),
        _render_default(key),
        meaning,
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _render_default(key: Key) -> str:
    if key.info.is_required():
        return "required"
    default: object = key.info.get_default(call_default_factory=True, validated_data={})
    if isinstance(default, SecretStr) or default in ("", (), {}):
        return "empty"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return f"`{default}`"


_INTRODUCTION = """# Settings

This page is generated from the classes; do not edit it.

Settings come from a JSON file (`--config FILE`, or the environment's `TWINFRAME_CONFIG`) and from
the environment, which wins. In the file sections are objects: `{"Server": {"Workers": 2}}`. In the
environment `__` separates the parts of a key: `Server__Workers=2`. Letters may be of any case.

* An element of a list is set by its index, `Authorization__RequiredScopes__0=access:platform`; a
  whole list, or a section inside of another, may be one JSON value,
  `Cors__Origins=["https://app.example"]`.
* An unknown key in a known section stops the start with the nearest name. Environment keys whose
  first part is no section belong to other programs and are passed over.
* `twinframe settings` prints what is in force and where each value comes from; `twinframe check`
  says what is wrong.
"""
