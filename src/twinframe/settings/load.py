"""Loads the settings from file and environment into checked, frozen sections."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from twinframe.errors import ErrorDetail, PluginError, SettingsError
from twinframe.settings.section import Section
from twinframe.settings.shape import Key, KeyPath, read_keys, render_key, render_type
from twinframe.settings.sources import (
    INVALID,
    Assignment,
    PluginSections,
    Reading,
    render_section_name,
)
from twinframe.settings.tree import Settings

CONFIG_VARIABLE = "TWINFRAME_CONFIG"
DEFAULT_ORIGIN = "default"

S = TypeVar("S", bound=Section)


@dataclass(frozen=True, slots=True)
class Configuration:
    """The settings in force: the core's tree and the sections of plugins, by key path.

    `origins` is the source of each value that is not a default.
    """

    settings: Settings
    sections: Mapping[KeyPath, Section] = field(default_factory=dict)
    origins: Mapping[KeyPath, str] = field(default_factory=dict)

    def section(self, path: KeyPath, model: type[S]) -> S:
        """Return the plugin section at `path`; its defaults when nothing set it."""
        found = self.sections.get(path)
        return found if isinstance(found, model) else model()


def load_settings(
    config: Path | None = None,
    environ: Mapping[str, str] | None = None,
    plugin_sections: Mapping[str, PluginSections] | None = None,
    *,
    given: Mapping[str, str] | None = None,
) -> Configuration:
    """Read, merge and check all settings; the environment takes precedence over the file.

    `config` is a JSON file (else the environment's `TWINFRAME_CONFIG`, else none); `environ`
    defaults to the process's; `plugin_sections` maps core sections to their plugin sections.
    `given` are keys of the environment's form that code gives; they take precedence. Raises
    `SettingsError` with one entry of `details` for each error, or the `PluginError` itself when a
    missing plugin is the only one.
    """
    variables = os.environ if environ is None else environ
    reading = Reading(plugin_sections or {})
    path = config or (Path(variables[CONFIG_VARIABLE]) if variables.get(CONFIG_VARIABLE) else None)
    if path is not None:
        reading.read_file(path)
    reading.read_environment(variables)
    if given is not None:
        reading.read_given(given)
    values = _merge(reading.assignments, reading.problems)
    settings = _build_section(Settings, (), values, reading)
    if settings is not None:
        _choose_plugins(settings, reading)
    sections = {
        at: built
        for at, model in reading.sections.items()
        if (built := _build_section(model, at, values, reading)) is not None
    }
    if settings is None or reading.problems:
        raise _build_error(reading.problems)
    origins = {at: origin for at, (_value, origin) in values.items()}
    return Configuration(settings, sections, origins)


def _choose_plugins(settings: Settings, reading: Reading) -> None:
    """Add the sections of the plugins in use, which have defaults even when nothing sets them."""
    for section, place in reading.plugin_sections.items():
        name = place.choose(settings)
        if name is None:
            continue
        path = (section, render_section_name(name, place.suffix))
        if any(_fold(path) == _fold(known) for known in reading.sections):
            continue
        try:
            found = place.find(name)
        except PluginError as error:
            if any(error.message in told.message for told in reading.problems):
                continue  # a key of its section has found the same plugin
            detail = ErrorDetail(error.code, f"{section}__{place.key}={name}: {error.message}")
            reading.problems.append(detail)
            continue
        if found is not None:
            reading.sections[section, found.name] = found.model


def _fold(path: KeyPath) -> KeyPath:
    return tuple(part.casefold() for part in path)


Values = dict[KeyPath, tuple[Any, str]]


def _merge(assignments: list[Assignment], problems: list[ErrorDetail]) -> Values:
    values: Values = {}
    for item in assignments:
        if not item.below:
            values[item.path] = (item.value, item.origin)
            continue
        held, _origin = values.get(item.path, (None, ""))
        part = item.below[0]
        if len(item.below) == 2 or not part.isdecimal():
            values[item.path] = (_put_below(held, item.below, item.value), item.origin)
            continue
        elements = list(held) if isinstance(held, list) else []
        index = int(part)
        if index > len(elements):
            key = render_key((*item.path, part))
            problems.append(
                ErrorDetail(
                    INVALID,
                    f"{key} ({item.origin}) leaves a gap: the next index is {len(elements)}.",
                )
            )
            continue
        elements[index : index + 1] = [item.value]
        values[item.path] = (elements, item.origin)
    return values


def _put_below(held: Any, below: tuple[str, ...], value: Any) -> dict[str, Any]:
    """Return the mapping with `value` at these keys, replacing values on the way that are no
    mappings.
    """
    kept = held if isinstance(held, dict) else {}
    name, *rest = below
    if rest:
        inner = kept.get(name)
        value = {**(inner if isinstance(inner, dict) else {}), rest[0]: value}
    return {**kept, name: value}


def _build_section(model: type[S], path: KeyPath, values: Values, reading: Reading) -> S | None:
    try:
        return model.model_validate(_build_document(model, path, values))
    except ValidationError as error:
        reading.problems.extend(
            _build_detail(model, path, finding["loc"], finding["msg"], finding["type"], values)
            for finding in error.errors(include_url=False, include_input=False)
        )
        return None


def _build_document(model: type[Section], path: KeyPath, values: Values) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for key in read_keys(model).values():
        below = (*path, key.name)
        if key.section is not None:
            document[key.name] = _build_document(key.section, below, values)
        elif below in values:
            document[key.name] = values[below][0]
    return document


def _build_detail(
    model: type[Section],
    path: KeyPath,
    location: tuple[int | str, ...],
    message: str,
    kind: str,
    values: Values,
) -> ErrorDetail:
    """Build the error: the key, its value, the value's source, and what would be right."""
    at = (*path, *(str(part) for part in location))
    key, key_path = _find_leaf(model, path, location)
    if key is None:  # a rule over several keys of one section
        origins = sorted({o for p, (_v, o) in values.items() if p[: len(at)] == at})
        where = f" ({', '.join(origins)})" if origins else ""
        return ErrorDetail(INVALID, f"{render_key(at)}{where}: {_clean(message)}.")
    if key_path not in values:
        wanted = f"it must be {render_type(key.info)}"
        return ErrorDetail(INVALID, f"{render_key(key_path)} is not set: {wanted}.")
    value, origin = values[key_path]
    for index in location[len(key_path) - len(path) :]:
        value = _pick(value, index)
    right = _clean(message) if kind == "value_error" else f"must be {render_type(key.info)}"
    shown = "***" if key.secret else repr(value)
    return ErrorDetail(INVALID, f"{render_key(at)} = {shown} ({origin}): {right}.")


def _find_leaf(
    model: type[Section], path: KeyPath, location: tuple[int | str, ...]
) -> tuple[Key | None, KeyPath]:
    for part in location:
        key = read_keys(model)[str(part).casefold()]
        path = (*path, key.name)
        if key.section is None:
            return key, path
        model = key.section
    return None, path


def _pick(value: Any, index: int | str) -> Any:
    if isinstance(value, list) and isinstance(index, int) and index < len(value):
        return value[index]
    return value.get(index, value) if isinstance(value, dict) else value


def _clean(message: str) -> str:
    return message.removeprefix("Value error, ").rstrip(".")


def _build_error(problems: list[ErrorDetail]) -> SettingsError | PluginError:
    if len(problems) == 1:
        only = problems[0]
        kind = PluginError if only.code == PluginError.code else SettingsError
        return kind(only.message, details=tuple(problems))
    return SettingsError(
        f"{len(problems)} settings are wrong: " + " ".join(p.message for p in problems),
        details=tuple(problems),
    )
