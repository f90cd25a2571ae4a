"""Caches parsed interfaces and compiled validators of a worker, loading them on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import orjson

from twinframe.dtdl import SERVICE, Interface, TwinValidator, compile_validator, parse_models
from twinframe.dtdl.outline import ModelOutline
from twinframe.errors import StorageDamaged
from twinframe.graph.documents.derivations import Derivation, find_derived, read_derivations
from twinframe.storage.base import GraphSession, ModelRecord


@dataclass(frozen=True, slots=True, eq=False)
class LoadedModel:
    """A stored model, ready to validate twins.

    `derived` are the properties that the service computes, each with the id of its derivation.
    """

    interface: Interface
    validator: TwinValidator
    decommissioned: bool
    derived: Mapping[str, str] = field(default_factory=dict)


_MOST_CONTENTS: Final = 100_000
"""The most contents of cached interfaces: some 60 MiB. An interface counts as a few."""
_INTERFACE_CONTENTS: Final = 8
_MODELS_AT_ONCE: Final = 100


@dataclass(slots=True)
class _Generation:
    """The models loaded under one schema version.

    `interfaces` includes a model's bases and its components' interfaces. `contents` is their total
    number of contents.
    """

    version: int
    contents: int = 0
    interfaces: dict[str, Interface] = field(default_factory=dict)
    models: dict[str, LoadedModel] = field(default_factory=dict)
    derivations: Sequence[Derivation] | None = None


class ModelCache:
    """Models as one session or transaction sees them.

    Thread-safe: a generation is replaced as a whole, and two threads that load the same model load
    equal ones.
    """

    def __init__(self) -> None:
        self._generation = _Generation(-1)

    def open(self, session: GraphSession) -> ModelView:
        """Return the models in the state that `session` sees now; use it in that state only."""
        version = session.read_schema_version()
        generation = self._generation
        # SEC: with twins of 60,000 models all of them were cached, 23 KB each. An open view keeps
        # its generation; the next one starts empty.
        if generation.version != version or generation.contents > _MOST_CONTENTS:
            generation = self._generation = _Generation(version)
        return ModelView(session, generation)


class PinnedModels(ModelCache):
    """The models of one transaction, which changes none of them: their state is read once.

    PERF: 1 us for each command of the transaction.
    """

    def __init__(self, view: ModelView) -> None:
        super().__init__()
        self._view = view

    def open(self, session: GraphSession) -> ModelView:
        """Return the models in the transaction's state; only for its session."""
        del session
        return self._view


class ModelView:
    """Looks models up in one state of the graph."""

    __slots__ = ("_generation", "_session")

    def __init__(self, session: GraphSession, generation: _Generation) -> None:
        self._session = session
        self._generation = generation

    def find(self, model_id: str) -> LoadedModel | None:
        """The model, or None when none is stored under this id."""
        models = self._generation.models
        if model_id not in models:
            # SEC: unknown ids come from clients; caching them would be unbounded.
            loaded = self._load(model_id)
            if loaded is None:
                return None
            models[model_id] = loaded
        return models[model_id]

    def find_interface(self, model_id: str) -> Interface | None:
        """The parsed interface alone, or None when none is stored under this id."""
        interfaces = self._generation.interfaces
        if model_id not in interfaces:
            record = self._session.read_model(model_id)
            if record is None:
                return None
            self._load_interfaces(record)
        return interfaces[model_id]

    def _load(self, model_id: str) -> LoadedModel | None:
        record = self._session.read_model(model_id)
        if record is None:
            return None
        self._load_interfaces(record)
        interfaces = self._generation.interfaces
        interface = interfaces[model_id]
        validator = compile_validator(interface, interfaces.__getitem__)
        derived = find_derived(self._read_derivations(), (model_id, *interface.ancestors))
        return LoadedModel(interface, validator, record.decommissioned, derived)

    def _read_derivations(self) -> Sequence[Derivation]:
        found = self._generation.derivations
        if found is None:
            found = self._generation.derivations = read_derivations(self._session)
        return found

    def _load_interfaces(self, record: ModelRecord) -> None:
        interfaces = self._generation.interfaces
        if record.model_id not in interfaces:
            # PERF: one by one; copying all known ones would take a second for 60,000 models.
            for model_id, interface in self._parse(record).items():
                if interfaces.setdefault(model_id, interface) is interface:
                    self._generation.contents += _INTERFACE_CONTENTS + len(interface.contents)

    def _parse(self, record: ModelRecord) -> Mapping[str, Interface]:
        """Parse the model's interface and all that it depends on."""
        document: object = orjson.loads(record.document)
        resolve = build_resolver(self._session)
        # NOTE: the rules under which it was stored may have been laxer than ours.
        parsed = parse_models([document], resolve=resolve, limits=SERVICE, trusted=True)
        if record.model_id not in parsed.interfaces:
            raise StorageDamaged(f"The stored model {record.model_id} is no DTDL interface.")
        return parsed.interfaces


def read_documents(session: GraphSession) -> Iterator[tuple[ModelRecord, ModelOutline]]:
    """Yield all stored models, each with the outline of its document."""
    position = 0
    while records := session.read_models(after=position, limit=_MODELS_AT_ONCE):
        for record in records:
            yield record, ModelOutline(orjson.loads(record.document))
        position = records[-1].position


def build_resolver(session: GraphSession) -> Callable[[frozenset[str]], Iterable[object]]:
    """Build a resolver for the parser: the stored documents of the ids that have one."""

    def resolve(model_ids: frozenset[str]) -> Iterator[object]:
        for model_id in model_ids:
            record = session.read_model(model_id)
            if record is not None:
                yield orjson.loads(record.document)

    return resolve
