"""Reads what settings say of something with a name and a plugin: an endpoint, a source."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from pydantic import SecretStr, ValidationError

from twinframe.errors import ErrorDetail, PluginError, SettingsError
from twinframe.errors.nearest import find_nearest
from twinframe.hooks.drivers import Plugin
from twinframe.hooks.sections import read_section_class
from twinframe.settings import Section
from twinframe.settings.events import SecretJson
from twinframe.settings.shape import KeyPath, read_keys, render_key, render_type

T = TypeVar("T")

TYPE: Final = "Type"
MAPPINGS: Final = "Mappings"
"""The only key of the core that has a list."""
_COMPOSED: Final = "a list or an object"


@dataclass(frozen=True, slots=True)
class NamedKeys:
    """The keys of one name below `root`. `own_names` are those that the core reads itself.

    `own` are the values of these, `others` those of the plugin by folded key, with the key as it
    was given. `noun` is the word for it in messages. `composed` are the folded keys that have a
    list or an object of a JSON file.
    """

    root: KeyPath
    name: str
    noun: str
    own_names: Sequence[str]
    own: Mapping[str, str]
    others: Mapping[str, tuple[str, str]]
    composed: Collection[str] = ()

    def render(self, *keys: str) -> str:
        """Render a key as it is written in the environment."""
        return render_key((*self.root, self.name, *keys))

    def require_type(self, example: str) -> str:
        """Return the name of its plugin. Raises `SettingsError`."""
        for name in self.own_names:
            if name.casefold() in self.composed and name != MAPPINGS:
                raise SettingsError(f"{self.render(name)}: must be text, not {_COMPOSED}.")
        if TYPE in self.own:
            return self.own[TYPE]
        raise SettingsError(
            f"{self.render(TYPE)} is not set: it names the type of the {self.noun}, such as "
            f"{example}."
        )

    def build_section(self, plugin: Plugin) -> Section:
        """Build the plugin's section. Raises `SettingsError`."""
        model = read_section_class(plugin) or Section
        keys = read_keys(model)
        document: dict[str, Any] = {}
        for folded, (given, text) in self.others.items():
            key = keys.get(folded)
            if key is None:
                raise self._build_unknown(plugin, given, [key.name for key in keys.values()])
            is_json = key.takes_list or key.takes_mapping
            if folded in self.composed and not is_json:
                right = render_type(key.info)
                raise SettingsError(f"{self.render(key.name)}: must be {right}, not {_COMPOSED}.")
            document[key.name] = _parse_json(text) if is_json else text
        try:
            return model.model_validate(document)
        except ValidationError as error:
            findings = error.errors(include_url=False, include_input=False)
            raise SettingsError(
                " ".join(self._render_finding(model, one) for one in findings)
            ) from None

    def _build_unknown(self, plugin: Plugin, given: str, known: list[str]) -> SettingsError:
        near = find_nearest(given, [*known, *self.own_names])
        hint = (
            f"Did you mean {self.render(near)}?"
            if near
            else f"Known are: {', '.join([*self.own_names, *known])}."
        )
        return SettingsError(
            f"{self.render(given)} is not a key of {_with_article(self.noun)} of type "
            f"{plugin.info.name}. {hint}"
        )

    def _render_finding(self, model: type[Section], finding: Mapping[str, Any]) -> str:
        location = [str(part) for part in finding["loc"]]
        key = read_keys(model).get(location[0].casefold()) if location else None
        message = str(finding["msg"]).removeprefix("Value error, ").rstrip(".")
        if key is not None and finding["type"] != "value_error":
            message = f"must be {render_type(key.info)}"
        return f"{self.render(*location)}: {message}."


def build_all(
    root: KeyPath,
    noun: str,
    own_names: Sequence[str],
    named: Mapping[str, Mapping[str, SecretStr]],
    build: Callable[[NamedKeys], T],
) -> dict[str, T]:
    """Build all of a section by their names.

    Raises `SettingsError` with all errors, or `PluginError`.
    """
    found: dict[str, T] = {}
    problems: list[ErrorDetail] = []
    folded = {name.casefold(): name for name in own_names}
    for name, keys in named.items():
        values = {key.casefold(): (key, text.get_secret_value()) for key, text in keys.items()}
        own = {folded[key]: text for key, (_, text) in values.items() if key in folded}
        others = {key: pair for key, pair in values.items() if key not in folded}
        composed = {key.casefold() for key, text in keys.items() if isinstance(text, SecretJson)}
        try:
            found[name] = build(NamedKeys(root, name, noun, own_names, own, others, composed))
        except SettingsError as error:
            problems += error.details or [ErrorDetail(error.code, error.message)]
        except PluginError as error:
            raise PluginError(f"{render_key((*root, name, TYPE))}: {error.message}") from error
    if problems:
        raise SettingsError(" ".join(one.message for one in problems), details=tuple(problems))
    return found


def _parse_json(text: str) -> Any:
    """Parse a value that should be JSON; return the text itself for the check to refuse."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _with_article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"
