"""Label sets as interfaces: how a node of the TCK becomes a twin. It stores nothing itself.

Each label is an interface whose DTMI ends in it; a node with several labels, or with none, is a
twin of an interface of its own that extends the interfaces of its labels.
"""

from __future__ import annotations

from collections.abc import Iterable

import orjson

from twinframe.model.ids import TWIN_LABEL, build_labels
from twinframe.storage.base import ModelRecord

_LABEL = "dtmi:tck:label:"
_SET = "dtmi:tck:set:"
_SET_NAME = "tck__"
_UPLOAD_TIME = "2024-01-01T00:00:00.0000000+00:00"


def is_label_of_the_kit(label: str) -> bool:
    """Whether a twin bears the label only because it is a twin, or has a model of this kit."""
    return label == TWIN_LABEL or label.startswith(("dtmi:tck:", _SET_NAME))


def build_model_id(labels: frozenset[str]) -> str:
    """The DTMI of the interface of the nodes that have exactly these labels."""
    if len(labels) == 1:
        return f"{_LABEL}{next(iter(labels))};1"
    return f"{_SET}{_SET_NAME}{'__'.join(sorted(labels))};1"


def build_node_labels(labels: frozenset[str]) -> frozenset[str]:
    """All labels of a twin that stands for a node with these."""
    parents = frozenset(build_model_id(frozenset({label})) for label in labels)
    return build_labels(parents | {build_model_id(labels)})


def build_models(labels: frozenset[str]) -> Iterable[ModelRecord]:
    """The interface of these labels behind those it extends, each with its DTMI."""
    singles = [frozenset({label}) for label in sorted(labels)]
    for single in singles:
        yield _build_record(build_model_id(single), ())
    if len(singles) != 1:
        yield _build_record(build_model_id(labels), tuple(map(build_model_id, singles)))


def _build_record(model_id: str, extends: tuple[str, ...]) -> ModelRecord:
    document = {"@id": model_id, "@type": "Interface", "extends": list(extends)}
    return ModelRecord(
        model_id=model_id,
        document=orjson.dumps(document),
        display_name=b"{}",
        description=b"{}",
        extends=extends,
        components=(),
        upload_time=_UPLOAD_TIME,
    )
