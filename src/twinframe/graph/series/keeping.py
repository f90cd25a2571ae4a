"""Which telemetry is kept as points: of which models and paths, for which twins and components."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import orjson

from twinframe.dtdl.interfaces import Declared, Interface, Property, Telemetry
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
    """The models of a setting, and those that extend them; and what is Historized.

    `kind` is what the setting is of: the telemetry or the properties of these models.
    """

    def __init__(
        self, models: Collection[str], kind: type[Telemetry | Property] = Telemetry
    ) -> None:
        self._models = frozenset(models)
        self._kind = kind

    @property
    def are_all(self) -> bool:
        """Whether all of every model is kept. PERF: nothing needs to be looked up."""
        return ALL in self._models

    def find_paths(self, model_id: str, view: ModelView) -> ChosenPaths | None:
        """Return of which paths the telemetry of twins of this model is kept; None: of all."""
        if self.are_all or model_id in self._models:
            return None
        interface = view.find_interface(model_id)
        if interface is None:  # it may have been deleted
            return ChosenPaths(model_id, frozenset())
        if not self._models.isdisjoint(interface.ancestors):
            return None
        found = self._list_historized(interface, view) if HISTORIZED in self._models else ()
        return ChosenPaths(model_id, frozenset(found))

    def find_paths_of(self, model_id: str, name: str, view: ModelView) -> ChosenPaths | None:
        """Return `find_paths`; with a `name` that of relationships, by their source's model."""
        chosen = self.find_paths(model_id, view)
        if not name:
            return chosen
        interface = view.find_interface(model_id)
        link = None if interface is None else interface.relationships.get(name)
        if chosen is None or link is None or HISTORIZED not in self._models:
            return None if chosen is None else ChosenPaths(model_id, frozenset())
        return ChosenPaths(model_id, frozenset(filter_historized(link.properties)))

    def _list_historized(self, interface: Interface, view: ModelView) -> Iterator[str]:
        """Yield the paths of what is Historized, also of the components."""
        yield from self._list_own(interface, "")
        for name, component in interface.components.items():
            part = view.find_interface(component.schema)
            if part is not None:
                yield from self._list_own(part, name)

    def _list_own(self, interface: Interface, prefix: str) -> Iterator[str]:
        own = {n: one for n, one in interface.contents.items() if isinstance(one, self._kind)}
        for name in filter_historized(own):
            yield build_path(prefix, name)


def filter_historized(contents: Mapping[str, Declared]) -> Iterator[str]:
    """Yield the names of those that a model declares as Historized."""
    return (name for name, one in contents.items() if "Historized" in one.types)


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
