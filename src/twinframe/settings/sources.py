"""Reads settings file and environment into assignments of known keys, without checking the
values.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo

from twinframe.errors import ErrorDetail, PluginError, SettingsError
from twinframe.errors.nearest import find_nearest
from twinframe.settings.section import Section
from twinframe.settings.shape import Key, KeyPath, read_keys, render_key, render_type
from twinframe.settings.tree import Settings

ROOT = ""
"""Represents the tree itself among the sections that contain sections of plugins."""

UNKNOWN = "UnknownSetting"
INVALID = "InvalidSetting"
ENVIRONMENT = "environment"
GIVEN = "settings"
"""The first word of the origin of a value: of a variable, or of what code gives."""


@dataclass(frozen=True, slots=True)
class PluginSection:
    """The settings section of one installed plugin: its name in the tree, and its class."""

    name: str
    model: type[Section]


@dataclass(frozen=True, slots=True)
class PluginSections:
    """A section of the core, or the tree itself, that contains the sections of one seam's plugins.

    A plugin `api` is under its name and `suffix`: `Authorization__ApiProvider`. `find` returns the
    section of an installed plugin, None if it has no settings, else it raises `PluginError`.
    `names` are the installed plugins; `choose` is the one in use, None when the seam is off; `key`
    of the section names it. `known` are this project's plugins, installed or not: a missing one of
    them is an error that says how to get it.
    """

    suffix: str
    find: Callable[[str], PluginSection | None]
    names: Callable[[], Iterable[str]]
    choose: Callable[[Settings], str | None]
    known: Sequence[str] = ()
    key: str = "Provider"


@dataclass(frozen=True, slots=True)
class Assignment:
    """A value of the key `path`, or of its element `below`, from `origin`."""

    path: KeyPath
    below: tuple[str, ...]
    value: object
    origin: str


@dataclass(slots=True)
class Reading:
    """The contents of the sources: assignments by rising precedence, and all errors so far."""

    plugin_sections: Mapping[str, PluginSections]
    assignments: list[Assignment] = field(default_factory=list)
    sections: dict[KeyPath, type[Section]] = field(default_factory=dict)
    problems: list[ErrorDetail] = field(default_factory=list)

    def read_file(self, path: Path) -> None:
        """Read the keys of a JSON file. Raises `SettingsError` when it cannot be read at all."""
        document = _read_document(path)
        self._read_members(Settings, (), document, lambda where: f"{path}#{where}", "")

    def read_environment(self, environ: Mapping[str, str]) -> None:
        """Read the keys `Section__Key…` whose first part is a section; other variables are
        ignored.
        """
        self._read_variables(environ, ENVIRONMENT)

    def read_given(self, given: Mapping[str, str]) -> None:
        """Read the keys `Section__Key…` that code gives; any other name is an error."""
        known = [key.name for key in read_keys(Settings).values()]
        for name in given:
            if not self._is_variable(name):
                section, origin = name.partition("__")[0], f"{GIVEN} {name}"
                self._refuse(UNKNOWN, _render_unknown((), section, origin, known))
        self._read_variables(given, GIVEN)

    def _read_variables(self, variables: Mapping[str, str], source: str) -> None:
        seen: dict[str, str] = {}
        for variable in sorted(variables, key=_environment_order):
            if not self._is_variable(variable):
                continue
            folded = variable.casefold()
            if folded in seen:
                self._refuse(INVALID, f"{seen[folded]} and {variable} set the same key; keep one.")
                continue
            seen[folded] = variable
            origin = f"{source} {variable}"
            self._read_variable(origin, variable.split("__"), variables[variable])

    def _is_variable(self, name: str) -> bool:
        section, separator, _ = name.partition("__")
        return bool(separator) and self._is_section(section)

    def _is_section(self, name: str) -> bool:
        """Return whether it is a section of the tree, including those of installed plugins."""
        if name.casefold() in read_keys(Settings):
            return True
        place = self.plugin_sections.get(ROOT)
        return place is not None and name.casefold() in _fold_all(place.names())

    def _read_variable(self, origin: str, parts: list[str], text: str) -> None:
        model: type[Section] = Settings
        path: KeyPath = ()
        for position, part in enumerate(parts):
            nested = position + 1 < len(parts) or text.lstrip().startswith("{")
            key = self._find_key(model, path, part, origin, nested=nested)
            if key is None:
                return
            path = (*path, key.name)
            if key.section is None:
                below = tuple(parts[position + 1 :])
                self._assign(path, key, below, _parse_text(key, below, text), origin)
                return
            model = key.section
        value = _parse_json(text) if text.lstrip().startswith("{") else text
        self._read_section(model, path, value, lambda _where: origin, "")

    def _read_section(
        self,
        model: type[Section],
        path: KeyPath,
        value: object,
        origin: Callable[[str], str],
        where: str,
    ) -> None:
        if isinstance(value, dict):
            self._read_members(model, path, value, origin, where)
            return
        names = ", ".join(key.name for key in read_keys(model).values())
        self._refuse(
            INVALID,
            f"{render_key(path)} ({origin(where)}) is a section and takes an object with: {names}.",
        )

    def _read_members(
        self,
        model: type[Section],
        path: KeyPath,
        document: dict[str, Any],
        origin: Callable[[str], str],
        where: str,
    ) -> None:
        seen: dict[str, str] = {}
        for name, value in document.items():
            place = f"{where}/{name.replace('~', '~0').replace('/', '~1')}"
            key = self._find_key(model, path, name, origin(place), nested=isinstance(value, dict))
            if key is None:
                continue
            if key.name in seen:
                self._refuse(
                    INVALID,
                    f"{seen[key.name]} and {name} ({origin(place)}) set the same key; keep one.",
                )
            seen[key.name] = name
            if key.section is None:
                self._assign((*path, key.name), key, (), value, origin(place))
            else:
                self._read_section(key.section, (*path, key.name), value, origin, place)

    def _find_key(
        self, model: type[Section], path: KeyPath, name: str, origin: str, *, nested: bool
    ) -> Key | None:
        keys = read_keys(model)
        if (key := keys.get(name.casefold())) is not None:
            return key
        known = [key.name for key in keys.values()]
        place = self.plugin_sections.get(path[0] if path else ROOT) if len(path) <= 1 else None
        if place is not None:
            names = tuple(place.names())
            known += [render_section_name(plugin, place.suffix) for plugin in names]
            # NOTE: at the root most unknown names were meant for sections of the core.
            meant = path or name.casefold() in _fold_all((*names, *place.known))
            if meant and nested and name.casefold().endswith(place.suffix.casefold()):
                return self._find_plugin_key(place, path, name, origin)
        self._refuse(UNKNOWN, _render_unknown(path, name, origin, known))
        return None

    def _find_plugin_key(
        self, place: PluginSections, path: KeyPath, name: str, origin: str
    ) -> Key | None:
        plugin = name[: len(name) - len(place.suffix)]
        try:
            found = place.find(plugin)
        except PluginError as error:
            self._refuse(error.code, f"{render_key((*path, name))} ({origin}): {error.message}")
            return None
        if found is None:
            self._refuse(
                UNKNOWN, f"{render_key((*path, name))} ({origin}): this plugin takes no settings."
            )
            return None
        self.sections[*path, found.name] = found.model
        return build_section_key(found)

    def _assign(
        self, path: KeyPath, key: Key, below: tuple[str, ...], value: object, origin: str
    ) -> None:
        plain = len(below) > 1 and not key.takes_mappings
        if plain or (
            below and not ((key.takes_list and below[0].isdecimal()) or key.takes_mapping)
        ):
            self._refuse(
                UNKNOWN,
                f"{render_key((*path, *below))} ({origin}) is not a setting: "
                f"{render_key(path)} must be {render_type(key.info)}.",
            )
        elif len(below) > 2:
            whole, part = render_key((*path, *below[:2])), below[2]
            form = '["..."]' if part.isdecimal() else f'{{"{part}": "..."}}'
            self._refuse(
                INVALID,
                f"{render_key((*path, *below))} ({origin}) goes too deep: write the whole value as "
                f"JSON, {whole}={form}.",
            )
        else:
            self.assignments.append(Assignment(path, below, value, origin))

    def _refuse(self, code: str, message: str) -> None:
        self.problems.append(ErrorDetail(code, message))


def find_near_misses(environ: Mapping[str, str], plugins: Iterable[str] = ()) -> list[str]:
    """List ignored keys that look like ours, with what was probably meant.

    `plugins` are those whose sections are in the tree itself.
    """
    sections = [key.name for key in read_keys(Settings).values()]
    sections += [render_section_name(plugin, "") for plugin in plugins]
    folded = _fold_all(sections)
    found = []
    for variable in sorted(environ):
        if variable.casefold() in read_keys(Settings) and environ[variable].lstrip()[:1] == "{":
            key = read_keys(Settings)[variable.casefold()].name
            found.append(f"{variable} is passed over. Set its keys one by one, as {key}__...")
        first, parts, rest = variable.partition("__")
        if not (first and parts and rest) or first.casefold() in folded:
            continue
        if nearest := find_nearest(first, sections):
            found.append(f"{variable} is passed over. Did you mean {nearest}__{rest}?")
    return found


def render_section_name(plugin: str, suffix: str) -> str:
    """Render the name of the settings of `plugin`: `sqlite` -> `Sqlite`."""
    return plugin[:1].upper() + plugin[1:] + suffix


def _fold_all(names: Iterable[str]) -> set[str]:
    return {name.casefold() for name in names}


def build_section_key(section: PluginSection) -> Key:
    """Build a plugin's section as if it were a key of the core's tree."""
    return Key(section.name, FieldInfo.from_annotation(section.model), section.model)


def _render_unknown(path: KeyPath, name: str, origin: str, known: list[str]) -> str:
    nearest = find_nearest(name, known)
    where = f"the section {render_key(path)}" if path else "the settings"
    hint = (
        f"Did you mean {render_key((*path, nearest))}?"
        if nearest
        else f"Known are: {', '.join(known)}."
    )
    return f"{render_key((*path, name))} ({origin}) is not a key of {where}. {hint}"


def _read_document(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise SettingsError(
            f"The settings file {path} cannot be read: {error.strerror}."
        ) from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"The settings file {path} is not UTF-8 text: {error}.") from error
    try:
        document = json.loads(
            text, object_pairs_hook=_build_object, parse_constant=_refuse_constant
        )
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"The settings file {path} is not valid JSON: {error}.") from error
    if not isinstance(document, dict):
        raise SettingsError(f"The settings file {path} must hold one JSON object.")
    return document


def _parse_json(text: str) -> object:
    """Parse `text` as JSON; return `text` itself if it is none, for the checks to refuse."""
    try:
        return json.loads(text, object_pairs_hook=_build_object, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return text


def _parse_text(key: Key, below: tuple[str, ...], text: str) -> object:
    complex_value = key.takes_list or key.takes_mapping
    return _parse_json(text) if complex_value and not below else text


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        names = [name for name, _value in pairs]
        doubled = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {doubled!r} stands twice in one object")
    return document


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not a JSON value")


def _environment_order(variable: str) -> tuple[tuple[int, int, str], ...]:
    """Sort whole values before their elements, elements by number."""
    return tuple(
        (0, int(part), "") if part.isdecimal() else (1, 0, part.casefold())
        for part in variable.split("__")
    )


def iterate_leaves(model: type[Section], path: KeyPath) -> Iterator[tuple[KeyPath, Key]]:
    """Yield every key below a section that holds a value, in the order of the classes."""
    for key in read_keys(model).values():
        if key.section is None:
            yield (*path, key.name), key
        else:
            yield from iterate_leaves(key.section, (*path, key.name))
