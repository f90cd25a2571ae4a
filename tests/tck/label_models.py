"""Label sets as interfaces: how a node of the TCK becomes a twin. It stores nothing itself.

Each label is an interface whose DTMI ends in it; a node with several labels, or with none, is a
twin of an interface of its own that extends the interfaces of its labels. So is a node with
properties that have a DTDL schema: its interface declares them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

import orjson

from twinframe.model.ids import TWIN_LABEL, build_labels
from twinframe.model.temporal.durations import Duration
from twinframe.model.temporal.instants import Date, DateTime, LocalDateTime, LocalTime, Time
from twinframe.model.values import Value
from twinframe.storage.base import ModelRecord

_LABEL = "dtmi:tck:label:"
_SET = "dtmi:tck:set:"
_SET_NAME = "tck__"
_UPLOAD_TIME = "2024-01-01T00:00:00.0000000+00:00"
_SCHEMAS: Mapping[type, str] = {
    Date: "date",
    DateTime: "dateTime",
    Time: "time",
    LocalDateTime: "dateTime",
    LocalTime: "time",
    Duration: "duration",
}

Schemas: TypeAlias = tuple[tuple[str, str], ...]
"""Properties that an interface declares, with the DTDL schema of each, in order of their names."""


def find_schemas(properties: Mapping[str, Value]) -> Schemas:
    """The properties whose value is of a type that DTDL has a temporal schema for.

    A local time is a time without an offset, which is read in UTC. Lists stay undeclared.
    """
    kinds = ((name, _SCHEMAS.get(type(value))) for name, value in sorted(properties.items()))
    return tuple((name, kind) for name, kind in kinds if kind is not None)


def is_label_of_the_kit(label: str) -> bool:
    """Whether a twin bears the label only because it is a twin, or has a model of this kit."""
    return label == TWIN_LABEL or label.startswith(("dtmi:tck:", _SET_NAME))


def build_model_id(labels: frozenset[str], schemas: Schemas = ()) -> str:
    """The DTMI of the interface of the nodes that have exactly these labels and declarations."""
    if len(labels) == 1 and not schemas:
        return f"{_LABEL}{next(iter(labels))};1"
    parts = sorted(labels) + [f"{name}_{kind}" for name, kind in schemas]
    return f"{_SET}{_SET_NAME}{'__'.join(parts)};1"


def build_node_labels(labels: frozenset[str], schemas: Schemas = ()) -> frozenset[str]:
    """All labels of a twin that stands for a node with these."""
    parents = frozenset(build_model_id(frozenset({label})) for label in labels)
    return build_labels(parents | {build_model_id(labels, schemas)})


def build_models(labels: frozenset[str], schemas: Schemas = ()) -> Iterable[ModelRecord]:
    """The interface of these labels behind those it extends, each with its DTMI."""
    singles = [frozenset({label}) for label in sorted(labels)]
    for single in singles:
        yield _build_record(build_model_id(single), ())
    if len(singles) != 1 or schemas:
        parents = tuple(map(build_model_id, singles))
        yield _build_record(build_model_id(labels, schemas), parents, schemas)


def _build_record(model_id: str, extends: tuple[str, ...], schemas: Schemas = ()) -> ModelRecord:
    document = {
        "@id": model_id,
        "@type": "Interface",
        "@context": "dtmi:dtdl:context;3",
        "extends": list(extends),
        "contents": [{"@type": "Property", "name": name, "schema": kind} for name, kind in schemas],
    }
    return ModelRecord(
        model_id=model_id,
        document=orjson.dumps(document),
        display_name=b"{}",
        description=b"{}",
        extends=extends,
        components=(),
        upload_time=_UPLOAD_TIME,
    )
