"""Builds the operator's event endpoints from the settings: one sink each, by its plugin."""

from __future__ import annotations

from typing import Final

from pydantic import ValidationError

from twinframe.errors import InvalidArgument, SettingsError
from twinframe.errors.masking import mask_secrets
from twinframe.graph.delivery.endpoints import Endpoint, Endpoints, EventForm
from twinframe.graph.events.recorder import build_source
from twinframe.hooks.event_sinks.base import Sink
from twinframe.hooks.event_sinks.tables import TableSink
from twinframe.hooks.installation import Installation
from twinframe.hooks.sections import read_section_class
from twinframe.service.named_keys import TYPE, NamedKeys, build_all
from twinframe.settings import Section

_ROOT: Final = ("Events", "Endpoints")
_TABLES: Final = "parquet"
_OWN: Final = (TYPE, "Form", "Hosted")
"""Keys that every endpoint has, whatever its type."""


def build_endpoints(installation: Installation) -> Endpoints:
    """Build all configured endpoints. Raises `SettingsError` with all errors, or `PluginError`."""
    events = installation.settings.events
    named = events.endpoints if events.enabled else {}

    def build(keys: NamedKeys) -> Endpoint:
        return _build_endpoint(installation, keys)

    return Endpoints(build_all(_ROOT, "endpoint", _OWN, named, build))


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


def _build_endpoint(installation: Installation, keys: NamedKeys) -> Endpoint:
    plugin = installation.load_event_sink(keys.require_type("webhook"))
    sink = plugin.build(
        "twinframe_event_sink",
        Sink,
        settings=keys.build_section(plugin),
        name=keys.name,
        source=build_source(installation.settings),
    )
    is_table = isinstance(sink, TableSink)
    form = _parse_form(keys, EventForm.HISTORY if is_table else EventForm.CLOUDEVENTS)
    if is_table and form is not EventForm.HISTORY:
        raise SettingsError(
            f"{keys.render('Form')} = {form.value!r}: an endpoint of type {plugin.info.name} "
            "stores rows of tables: leave Form out."
        )
    return Endpoint(keys.name, plugin.info.name, sink, form, _parse_flag(keys))


def _parse_form(keys: NamedKeys, default: EventForm) -> EventForm:
    text = keys.own.get("Form", default.value)
    try:
        return EventForm(text.casefold())
    except ValueError:
        forms = ", ".join(form.value for form in EventForm)
        at = keys.render("Form")
        raise SettingsError(f"{at} = {text[:100]!r}: must be one of {forms}.") from None


def _parse_flag(keys: NamedKeys) -> bool:
    text = keys.own.get("Hosted", "false")
    if text.casefold() not in ("true", "false"):
        raise SettingsError(f"{keys.render('Hosted')} = {text[:100]!r}: must be true or false.")
    return text.casefold() == "true"
