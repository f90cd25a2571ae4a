"""Builds the operator's event endpoints from the settings: one sink each, by its plugin."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError

from twinframe.errors import ErrorDetail, InvalidArgument, PluginError, SettingsError
from twinframe.errors.masking import mask_secrets
from twinframe.errors.nearest import find_nearest
from twinframe.graph.delivery.endpoints import Endpoint, Endpoints, EventForm
from twinframe.graph.events.recorder import build_source
from twinframe.hooks.drivers import Plugin
from twinframe.hooks.event_sinks.base import Sink
from twinframe.hooks.event_sinks.tables import TableSink
from twinframe.hooks.installation import Installation
from twinframe.hooks.sections import read_section_class
from twinframe.settings import Section
from twinframe.settings.shape import read_keys, render_key, render_type

_ROOT: Final = ("Events", "Endpoints")
_TABLES: Final = "parquet"
_OWN: Final = ("Type", "Form", "Hosted")
"""Keys that every endpoint has, whatever its type."""


def build_endpoints(installation: Installation) -> Endpoints:
    """Build all configured endpoints. Raises `SettingsError` with all errors, or `PluginError`."""
    events = installation.settings.events
    found: dict[str, Endpoint] = {}
    problems: list[ErrorDetail] = []
    for name, keys in events.endpoints.items() if events.enabled else ():
        values = {key.casefold(): (key, text.get_secret_value()) for key, text in keys.items()}
        try:
            found[name] = _build_endpoint(installation, name, values)
        except SettingsError as error:
            problems.append(ErrorDetail(error.code, error.message))
        except PluginError as error:
            raise PluginError(f"{render_key((*_ROOT, name, 'Type'))}: {error.message}") from error
    if problems:
        raise SettingsError(" ".join(one.message for one in problems), details=tuple(problems))
    return Endpoints(found)


def build_table_sink(installation: Installation, location: str) -> TableSink:
    """Build a sink for tables at a location. Raises `PluginError`, `InvalidArgument`."""
    plugin = installation.load_event_sink(_TABLES)
    model = read_section_class(plugin) or Section
    try:
        section = model.model_validate({"Location": location})
    except ValidationError as error:
        message = error.errors(include_url=False, include_input=False)[0]["msg"]
        raise InvalidArgument(
            f"{mask_secrets(location)!a}: {message.removeprefix('Value error, ')}."
        ) from None
    return plugin.build(
        "twinframe_event_sink",
        TableSink,  # type: ignore[type-abstract]  # only for isinstance
        settings=section,
        name="export",
        source=build_source(installation.settings),
    )


def _build_endpoint(
    installation: Installation, name: str, values: Mapping[str, tuple[str, str]]
) -> Endpoint:
    own = {key: values[key.casefold()][1] for key in _OWN if key.casefold() in values}
    rest = {key: pair for key, pair in values.items() if key not in {x.casefold() for x in _OWN}}
    if "Type" not in own:
        raise SettingsError(
            f"{render_key((*_ROOT, name, 'Type'))} is not set: it names the type of the endpoint, "
            "such as webhook."
        )
    plugin = installation.load_event_sink(own["Type"])
    section = _build_section(plugin, name, rest)
    sink = plugin.build(
        "twinframe_event_sink",
        Sink,
        settings=section,
        name=name,
        source=build_source(installation.settings),
    )
    is_table = isinstance(sink, TableSink)
    default = EventForm.HISTORY if is_table else EventForm.CLOUDEVENTS
    form = _parse_form(name, own.get("Form", default.value))
    if is_table and form is not EventForm.HISTORY:
        raise SettingsError(
            f"{render_key((*_ROOT, name, 'Form'))} = {form.value!r}: an endpoint of type "
            f"{plugin.info.name} stores rows of tables: leave Form out."
        )
    hosted = _parse_flag(name, own.get("Hosted", "false"))
    return Endpoint(name, plugin.info.name, sink, form, hosted)


def _build_section(plugin: Plugin, name: str, values: Mapping[str, tuple[str, str]]) -> Section:
    model = read_section_class(plugin) or Section
    keys = read_keys(model)
    document: dict[str, Any] = {}
    for folded, (given, text) in values.items():
        key = keys.get(folded)
        if key is None:
            raise _build_unknown(plugin, name, given, [key.name for key in keys.values()])
        is_json = key.takes_list or key.takes_mapping
        document[key.name] = _parse_json(text) if is_json else text
    try:
        return model.model_validate(document)
    except ValidationError as error:
        findings = error.errors(include_url=False, include_input=False)
        raise SettingsError(
            " ".join(_render_finding(model, name, one) for one in findings)
        ) from None


def _build_unknown(plugin: Plugin, name: str, given: str, known: list[str]) -> SettingsError:
    near = find_nearest(given, [*known, *_OWN])
    hint = (
        f"Did you mean {render_key((*_ROOT, name, near))}?"
        if near
        else f"Known are: {', '.join([*_OWN, *known])}."
    )
    return SettingsError(
        f"{render_key((*_ROOT, name, given))} is not a key of an endpoint of type "
        f"{plugin.info.name}. {hint}"
    )


def _render_finding(model: type[Section], name: str, finding: Mapping[str, Any]) -> str:
    location = [str(part) for part in finding["loc"]]
    key = read_keys(model).get(location[0].casefold()) if location else None
    at = render_key((*_ROOT, name, *location))
    message = str(finding["msg"]).removeprefix("Value error, ").rstrip(".")
    if key is not None and finding["type"] != "value_error":
        message = f"must be {render_type(key.info)}"
    return f"{at}: {message}."


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text  # the check refuses it


def _parse_form(name: str, text: str) -> EventForm:
    try:
        return EventForm(text.casefold())
    except ValueError:
        forms = ", ".join(form.value for form in EventForm)
        at = render_key((*_ROOT, name, "Form"))
        raise SettingsError(f"{at} = {text[:100]!r}: must be one of {forms}.") from None


def _parse_flag(name: str, text: str) -> bool:
    if text.casefold() not in ("true", "false"):
        at = render_key((*_ROOT, name, "Hosted"))
        raise SettingsError(f"{at} = {text[:100]!r}: must be true or false.")
    return text.casefold() == "true"
