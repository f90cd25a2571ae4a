"""Builds the operator's sources of messages from the settings, each with its mappings."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from twinframe.errors import ConfigurationError, InputError, SettingsError, StorageError
from twinframe.graph.background.runner import BackgroundTask
from twinframe.graph.context.context import GraphContext
from twinframe.graph.graph import BuildIngestion
from twinframe.graph.ingestion.mappings import NO_VALUES, parse_mappings
from twinframe.graph.ingestion.sources import Source, SourceKind
from twinframe.graph.ingestion.standing import Standing, read_standing
from twinframe.graph.series.series import Series
from twinframe.hooks.installation import Installation
from twinframe.hooks.sources.base import MessageSource, SourceFailed
from twinframe.model.json import JsonLimits, parse_json
from twinframe.runtime.diagnosis.findings import Finding, build_fine, build_warning
from twinframe.runtime.instruments.base import Instruments
from twinframe.service.named_keys import MAPPINGS, TYPE, NamedKeys, build_all

_ROOT: Final = ("Ingestion", "Sources")
_OWN: Final = (TYPE, MAPPINGS)
"""Keys that every source has, whatever its type."""


def build_sources(installation: Installation) -> Sequence[Source]:
    """Build all configured sources. Raises `SettingsError` with all errors, or `PluginError`."""

    def build(keys: NamedKeys) -> Source:
        return _build_source(installation, keys)

    named = installation.settings.ingestion.sources
    return tuple(build_all(_ROOT, "source", _OWN, named, build).values())


def build_ingestion(installation: Installation) -> BuildIngestion:
    """Build the background task of the sources, once its graph is there. Raises as above."""
    sources = build_sources(installation)

    def build(
        context: GraphContext, series: Series, instruments: Instruments | None
    ) -> BackgroundTask:
        return SourceKind(context, series, sources, instruments)

    return build


def _build_source(installation: Installation, keys: NamedKeys) -> Source:
    plugin = installation.load_source(keys.require_type("mqtt"))
    source = plugin.build(
        "twinframe_source",
        MessageSource,  # type: ignore[type-abstract]  # only for isinstance
        settings=keys.build_section(plugin),
        name=keys.name,
    )
    at = keys.render(MAPPINGS)
    if MAPPINGS not in keys.own:
        raise SettingsError(f"{at} is not set: it says what the messages of the source write.")
    try:
        documents = parse_json(
            keys.own[MAPPINGS].encode(), JsonLimits(), noun="JSON array of mappings"
        )
        mappings = parse_mappings(documents, source.form)
    except InputError as error:  # of JSON, or of a mapping
        raise SettingsError(f"{at}: {error.message}") from error
    writes_points = any(mapping.points != NO_VALUES for mapping in mappings)
    if writes_points and not installation.settings.history.telemetry:
        raise SettingsError(
            f"{at} writes points, but no telemetry is kept: set History__Telemetry to all, "
            "historized or ids of models."
        )
    return Source(keys.name, source, mappings)


def check_sources(installation: Installation, *, network: bool) -> Iterator[Finding]:
    """List what came of the messages of each source; with `network` also whether it can connect."""
    try:
        sources = build_sources(installation)
        standings = _read_standings(installation, sources)
    except (ConfigurationError, StorageError):  # reported already, as it stops the start
        return
    problems = asyncio.run(_probe_all(sources)) if network else {}
    for source in sources:
        yield from _check_standing(source, standings[source.name])
        if (problem := problems.get(source.name)) is not None:
            yield build_warning(
                "ingestion",
                f"The source {source.name} cannot be used: {problem}",
                f"Look at Ingestion__Sources__{source.name} and at what it names.",
            )


def _check_standing(source: Source, standing: Standing) -> Iterator[Finding]:
    name, messages = source.name, standing.messages
    yield build_fine(
        "ingestion",
        f"The source {name} has taken in {messages} messages: {standing.points} points and "
        f"{standing.properties} properties, {standing.stale} messages older than what is stored.",
    )
    for mapping in source.mappings if messages else ():
        topic = mapping.topic.text
        if not standing.matched[topic]:
            yield build_warning(
                "ingestion",
                f"The mapping of {topic} of the source {name} matched none of {messages} messages.",
                "Look at its topic, and whether the broker lets the source read it.",
            )
    if standing.letters:
        reasons = ", ".join(f"{reason} {count}" for reason, count in standing.refused.most_common())
        last = standing.letters[-1]
        yield build_warning(
            "ingestion",
            f"The source {name} refused {standing.refused.total()} of {messages} messages "
            f"({reasons}), the last at {last.time} of the topic {last.topic!a}: {last.message}",
            f"Look at Ingestion__Sources__{name}__Mappings and at what sends this.",
        )


def _read_standings(
    installation: Installation, sources: Sequence[Source]
) -> Mapping[str, Standing]:
    store = installation.build_store()
    store.open()
    try:
        session = store.session()
        try:
            return {source.name: read_standing(session, source.name) for source in sources}
        finally:
            session.close()
    finally:
        store.close()


async def _probe_all(sources: Sequence[Source]) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for source in sources:
        try:
            await source.source.probe()
        except SourceFailed as error:
            found[source.name] = error.message
    return found
