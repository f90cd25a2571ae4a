"""Which telemetry is kept as points: of which models, and for which twins and components."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from typing import Final

import orjson

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
from twinframe.settings.history import ALL
from twinframe.storage.base import GraphSession


class KeptModels:
    """The models of `History__Telemetry`, and those that extend them."""

    def __init__(self, models: Collection[str]) -> None:
        self._models = frozenset(models)

    @property
    def is_empty(self) -> bool:
        """Whether no telemetry is kept."""
        return not self._models

    def has(self, model_id: str, view: ModelView) -> bool:
        """Return whether the telemetry of twins of this model is kept."""
        if ALL in self._models or model_id in self._models:
            return True
        interface = view.find_interface(model_id)  # None: it may have been deleted
        return interface is not None and not self._models.isdisjoint(interface.ancestors)


_AT_ONCE: Final = 500
"""PERF: twins that are looked up on the event loop in one piece: a millisecond."""


async def find_refused(
    context: GraphContext, kept: KeptModels, senders: Collection[Sender]
) -> dict[Sender, TwinframeError]:
    """Return why the points of some senders are not kept: missing, or of another model."""
    refused: dict[Sender, TwinframeError] = {}
    asked = list(dict.fromkeys(senders))
    for start in range(0, len(asked), _AT_ONCE):
        some = asked[start : start + _AT_ONCE]
        await asyncio.sleep(0)  # others get a turn: a store may read on the event loop
        refused |= await context.runner.read(lambda session: _check(context, session, kept, some))  # noqa: B023  # awaited here
    return refused


def _check(
    context: GraphContext, session: GraphSession, kept: KeptModels, senders: Sequence[Sender]
) -> dict[Sender, TwinframeError]:
    models = session.read_twin_models([twin_id for twin_id, _ in senders])
    view = context.models.open(session)
    are_kept = {model_id: kept.has(model_id, view) for model_id in set(models.values())}
    refused: dict[Sender, TwinframeError] = {}
    for sender in senders:
        twin_id, component = sender
        model_id = models.get(twin_id)
        if model_id is None:
            refused[sender] = TwinNotFound(twin_id)
        elif not are_kept[model_id]:
            refused[sender] = OperationNotAllowed(
                f"The telemetry of {model_id}, the model of {twin_id}, is not kept "
                "(History__Telemetry)."
            )
        elif component is not None and not _has_component(view, session, sender, model_id):
            refused[sender] = ComponentNotFound(twin_id, component)
    return refused


def _has_component(view: ModelView, session: GraphSession, sender: Sender, model_id: str) -> bool:
    twin_id, component = sender
    interface = view.find_interface(model_id)
    if interface is not None and component in interface.components:
        return True
    stored = session.read_twin(twin_id)  # of a model that was deleted or changed since
    return stored is not None and component in list_parts(orjson.loads(stored.body))
