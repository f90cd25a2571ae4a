"""Which telemetry is kept as points: of which models and paths, for which twins and components."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Sequence
from typing import Final, NamedTuple

import orjson

from twinframe.dtdl.interfaces import Interface
from twinframe.errors import (
    ComponentNotFound,
    OperationNotAllowed,
    TwinframeError,
    TwinNotFound,
)
from twinframe.graph.context.context import GraphContext
from twinframe.graph.context.model_cache import ModelView
from twinframe.graph.documents.twins import list_parts
from twinframe.graph.series.lines import Sender
from twinframe.graph.series.paths import ChosenPaths
from twinframe.model.paths import build_path
from twinframe.settings.history import ALL, HISTORIZED
from twinframe.storage.base import GraphSession


class KeptModels:
    """The models of `History__Telemetry`, and those that extend them; and what is Historized."""

    def __init__(self, models: Collection[str]) -> None:
        self._models = frozenset(models)

    def find_paths(self, model_id: str, view: ModelView) -> ChosenPaths | None:
        """Return of which paths the telemetry of twins of this model is kept; None: of all."""
        if ALL in self._models or model_id in self._models:
            return None
        interface = view.find_interface(model_id)
        if interface is None:  # it may have been deleted
            return ChosenPaths(model_id, frozenset())
        if not self._models.isdisjoint(interface.ancestors):
            return None
        found = _list_historized(interface, view) if HISTORIZED in self._models else ()
        return ChosenPaths(model_id, frozenset(found))


def _list_historized(interface: Interface, view: ModelView) -> Iterator[str]:
    """Yield the paths of the telemetry that is Historized, also that of the components."""
    yield from _list_own(interface, "")
    for name, component in interface.components.items():
        part = view.find_interface(component.schema)
        if part is not None:
            yield from _list_own(part, name)


def _list_own(interface: Interface, prefix: str) -> Iterator[str]:
    for name, telemetry in interface.telemetries.items():
        if "Historized" in telemetry.types:
            yield build_path(prefix, name)


class CheckedSenders(NamedTuple):
    """Why the points of some senders are not kept, and the paths of those that keep only some."""

    refused: dict[Sender, TwinframeError]
    chosen: dict[Sender, ChosenPaths]


_AT_ONCE: Final = 500
"""PERF: twins that are looked up on the event loop in one piece: a millisecond."""


async def check_senders(
    context: GraphContext, kept: KeptModels, senders: Collection[Sender]
) -> CheckedSenders:
    """Return which senders are missing, or of a model of which not all telemetry is kept."""
    checked = CheckedSenders({}, {})
    asked = list(dict.fromkeys(senders))
    for start in range(0, len(asked), _AT_ONCE):
        some = asked[start : start + _AT_ONCE]
        await asyncio.sleep(0)  # others get a turn: a store may read on the event loop
        await context.runner.read(lambda session: _check(context, session, kept, some, checked))  # noqa: B023  # awaited here
    return checked


def _check(
    context: GraphContext,
    session: GraphSession,
    kept: KeptModels,
    senders: Sequence[Sender],
    checked: CheckedSenders,
) -> None:
    models = session.read_twin_models([twin_id for twin_id, _ in senders])
    view = context.models.open(session)
    paths = {model_id: kept.find_paths(model_id, view) for model_id in set(models.values())}
    refused, chosen = checked
    for sender in senders:
        twin_id, component = sender
        model_id = models.get(twin_id)
        if model_id is None:
            refused[sender] = TwinNotFound(twin_id)
            continue
        choice = paths[model_id]
        if choice is not None and not choice.paths:
            refused[sender] = OperationNotAllowed(
                f"The telemetry of {model_id}, the model of {twin_id}, is not kept "
                "(History__Telemetry)."
            )
        elif component is not None and not _has_component(view, session, sender, model_id):
            refused[sender] = ComponentNotFound(twin_id, component)
        elif choice is not None:
            chosen[sender] = choice


def _has_component(view: ModelView, session: GraphSession, sender: Sender, model_id: str) -> bool:
    twin_id, component = sender
    interface = view.find_interface(model_id)
    if interface is not None and component in interface.components:
        return True
    stored = session.read_twin(twin_id)  # of a model that was deleted or changed since
    return stored is not None and component in list_parts(orjson.loads(stored.body))
