"""Writes nodes and relationships of statements as twins of models, by the commands of the API."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Final, cast

import orjson

from twinframe.errors import QueryInvalid
from twinframe.errors.nearest import render_suggestion
from twinframe.graph.context.context import GraphContext
from twinframe.graph.context.model_cache import LoadedModel
from twinframe.graph.documents.relationships import ID as RELATIONSHIP_ID
from twinframe.graph.documents.relationships import NAME, TARGET
from twinframe.graph.documents.twins import ETAG, ID, METADATA, MODEL
from twinframe.graph.twins.relationships import (
    DeleteRelationship,
    PatchRelationship,
    parse_put_relationship,
)
from twinframe.graph.twins.removal import RemoveTwin
from twinframe.graph.twins.twins import DeleteTwin, PatchTwin, parse_put_twin
from twinframe.model.etags import UNCONDITIONED, parse_put_condition
from twinframe.model.ids import TWIN_LABEL, build_family, build_labels, build_model_name
from twinframe.model.patches import PatchOperation
from twinframe.model.rendering import build_json
from twinframe.model.values import JsonValue, Node, Path, Relationship, Value
from twinframe.query.writing.port import REMOVED, Change, Document, GraphWriter
from twinframe.storage.base import GraphTransaction

_NEW: Final = parse_put_condition(None, "*")
_ENTITY: Final = (Node, Relationship, Path)
_PLAIN: Final = frozenset({bool, int, str})


class TwinWriter(GraphWriter):
    """Writes twins of the models of one transaction."""

    def __init__(self, context: GraphContext, transaction: GraphTransaction) -> None:
        self._context = context.pin_models(transaction)
        self._transaction = transaction
        self._models = self._context.models.open(transaction)
        self._names: dict[str, list[str]] | None = None
        self._chosen: dict[tuple[str, ...], str] = {}
        self._labels: dict[str, frozenset[str]] = {}

    def create_node(
        self, labels: Sequence[str], properties: Mapping[str, Value], *, is_read: bool
    ) -> Node:
        """Create a twin of the most specific model that the labels, or `$metadata`, name.

        Its id is `$dtId`, else one is made. Errors: those of `PutTwin`, `InvalidArgument`.
        """
        body = build_members(properties)
        given = body.pop(ID, None)
        body.pop(ETAG, None)
        metadata = body.get(METADATA)
        metadata = dict(metadata) if isinstance(metadata, dict) else {}
        named = metadata.get(MODEL)
        model_id = named if isinstance(named, str) else self._choose_model(labels)
        body[METADATA] = {**metadata, MODEL: model_id}
        twin_id = read_id(given, ID)
        command = parse_put_twin(twin_id, body, _NEW)
        stored = command.apply(self._context, self._transaction)
        document = orjson.loads(stored.body) if is_read else {}
        found = Node(twin_id, document, self._read_labels(model_id))
        for label in labels:
            if label not in found.labels:
                raise build_label_error(f"The model {model_id} has not the label {label}.")
        return found

    def create_relationship(
        self, source: Node, target: Node, kind: str, properties: Mapping[str, Value]
    ) -> Relationship:
        """Create a relationship; its id is `$relationshipId`, else one is made.

        Errors: those of `PutRelationship`, `InvalidArgument`.
        """
        body = build_members(properties)
        relationship_id = read_id(body.pop(RELATIONSHIP_ID, None), RELATIONSHIP_ID)
        document: JsonValue = {**body, NAME: kind, TARGET: target.id}
        command = parse_put_relationship(source.id, relationship_id, document, _NEW)
        stored = command.apply(self._context, self._transaction)
        return Relationship(source.id, relationship_id, target.id, kind, orjson.loads(stored.body))

    def change_node(self, node: Node, change: Change) -> tuple[Document, frozenset[str]]:
        """Patch a twin; a label moves it to the model that the label names.

        Errors: those of `PatchTwin`.
        """
        operations = build_operations(change)
        new_model = self._find_new_model(node, change)
        if new_model is not None:
            path = (METADATA, MODEL)
            operations.append(PatchOperation(len(operations), "replace", path, new_model))
        command = PatchTwin(node.id, operations, UNCONDITIONED, new_model)
        stored = command.apply(self._context, self._transaction)
        document = cast("Document", orjson.loads(stored.body))
        model_id = cast("Document", document[METADATA])[MODEL]
        return document, self._read_labels(cast("str", model_id))

    def change_relationship(self, relationship: Relationship, change: Change) -> Document:
        """Patch a relationship. Errors: those of `PatchRelationship`."""
        operations = build_operations(change)
        for operation in operations:
            if operation.path[0].startswith("$"):
                operation.refuse("of a relationship only its properties change.")
        key = relationship.source, relationship.id
        command = PatchRelationship(*key, operations, UNCONDITIONED)
        stored = command.apply(self._context, self._transaction)
        return cast("Document", orjson.loads(stored.body))

    def delete_node(self, node_id: str, *, detach: bool) -> Sequence[tuple[str, str]] | None:
        """Delete a twin. Errors: those of `RemoveTwin`."""
        return delete_twin(self._context, self._transaction, node_id, detach=detach)

    def delete_relationship(self, source_id: str, relationship_id: str) -> None:
        """Delete a relationship."""
        command = DeleteRelationship(source_id, relationship_id, UNCONDITIONED)
        command.apply(self._context, self._transaction)

    def has_label(self, node: Node, label: str) -> bool:
        """Whether the twin's model, or one that it extends, has this name or id."""
        return label in node.labels

    # --- models

    def _find_new_model(self, node: Node, change: Change) -> str | None:
        for label in change.removed:
            raise build_label_error(
                f"The label {label} cannot be removed: it comes from the twin's model. Give the "
                "twin another model, with SET n:Label."
            )
        assigned = change.values.pop((METADATA, MODEL), None)
        if assigned is not None:
            if not isinstance(assigned, str):
                raise build_label_error("The model is given by its id, a string.")
            return assigned
        return self._choose_model([*change.added]) if change.added else None

    def _choose_model(self, labels: Sequence[str]) -> str:
        """Return the model that has all of the labels and is the most specific of them."""
        key = tuple(labels)
        found = self._chosen.get(key)
        if found is None:
            found = self._chosen[key] = self._search_model(labels)
        return found

    def _search_model(self, labels: Sequence[str]) -> str:
        wanted = [label for label in labels if label != TWIN_LABEL]
        if not wanted:
            raise build_label_error(
                "A twin needs a model: name it by a label, (n:Room), or by "
                "{`$metadata`: {`$model`: 'dtmi:com:example:Room;1'}}."
            )
        candidates: dict[str, LoadedModel] = {}
        for label in wanted:
            for model_id in self._find_named(label):
                model = self._models.find(model_id)
                if model is not None:
                    candidates[model_id] = model
        fitting = {
            model_id: model
            for model_id, model in candidates.items()
            if self._read_labels(model_id).issuperset(wanted)
        }
        if not fitting:
            raise self._refuse_labels(wanted, candidates)
        usable = {one: model for one, model in fitting.items() if not model.decommissioned}
        newest = _keep_newest([*(usable or fitting)])
        if len(newest) > 1:
            ids = ", ".join(sorted(newest)[:5])
            raise build_label_error(
                f"Several models have the label {':'.join(wanted)}: {ids}. Write the id of one "
                f"in backticks, (n:`{min(newest)}`)."
            )
        return newest[0]

    def _find_named(self, label: str) -> Sequence[str]:
        if label.startswith("dtmi:"):
            return (label,)
        if self._names is None:
            self._names = {}
            for model_id in self._transaction.read_model_ids():
                self._names.setdefault(build_model_name(model_id), []).append(model_id)
        return self._names.get(label, ())

    def _refuse_labels(
        self, wanted: Sequence[str], candidates: Mapping[str, LoadedModel]
    ) -> QueryInvalid:
        if candidates:
            return build_label_error(f"No model has all of the labels {', '.join(wanted)}.")
        hint = render_suggestion(wanted[0], self._names or ())
        end = "" if hint.endswith("?") else "."
        return build_label_error(
            f"There is no model with the label {wanted[0]}{hint}{end} A node of this graph is a "
            "twin, which needs a model: upload it first."
        )

    def _read_labels(self, model_id: str) -> frozenset[str]:
        found = self._labels.get(model_id)
        if found is None:
            model = self._models.find(model_id)
            above = () if model is None else model.interface.ancestors
            found = self._labels[model_id] = build_labels(frozenset((model_id, *above)))
        return found


def _keep_newest(model_ids: Sequence[str]) -> list[str]:
    """Return the newest version of each model."""
    newest: dict[str, str] = {}
    for model_id in model_ids:
        family = build_family(model_id)
        kept = newest.get(family)
        if kept is None or _read_version(kept) < _read_version(model_id):
            newest[family] = model_id
    return [*newest.values()]


def _read_version(model_id: str) -> tuple[int, ...]:
    version = model_id.partition(";")[2]
    return tuple(int(part) for part in version.split(".")) if version else ()


def build_label_error(message: str) -> QueryInvalid:
    """Build the error that labels name no model, or are no labels."""
    return QueryInvalid(message, kind="SemanticError", detail="InvalidLabel", phase="runtime")


def read_id(given: JsonValue, name: str) -> str:
    """Return the id that a statement gives, or a new one."""
    if given is None:
        return str(uuid.uuid4())
    if isinstance(given, str):
        return given
    raise QueryInvalid(
        f"{name} must be a string.", kind="TypeError", detail="InvalidPropertyType", phase="runtime"
    )


def build_members(properties: Mapping[str, Value]) -> Document:
    """Return properties as JSON; a null property is left out.

    Raises QueryInvalid for a value that is no property.
    """
    return {key: build_member(key, value) for key, value in properties.items() if value is not None}


def build_member(key: str, value: Value) -> JsonValue:
    """Return a property as JSON."""
    if type(value) in _PLAIN:  # PERF: most are
        return cast("JsonValue", value)
    check_member(key, value)
    return cast("JsonValue", build_json(value))


def check_member(key: str, value: Value, *, maps: bool = True) -> None:
    """Raise QueryInvalid for a value that is no property."""
    inner: Sequence[Value] = ()
    if isinstance(value, list):
        inner = value
    elif isinstance(value, dict) and maps:
        inner = [*value.values()]
    elif isinstance(value, (*_ENTITY, dict)):
        kind = "Map" if isinstance(value, dict) else type(value).__name__
        raise QueryInvalid(
            f"The property {key} cannot be a {kind}.",
            kind="TypeError",
            detail="InvalidPropertyType",
            phase="runtime",
        )
    elif isinstance(value, float) and value - value != 0:
        raise QueryInvalid(
            f"The property {key} is {value}, for which JSON has no number.",
            kind="ArithmeticError",
            detail="NumberOutOfRange",
            phase="runtime",
        )
    for one in inner:
        check_member(key, one, maps=maps)


def build_operations(change: Change) -> list[PatchOperation]:
    """Return the JSON Patch of a change; what is not there need not be removed."""
    operations: list[PatchOperation] = []
    for path, value in change.values.items():
        at = len(operations)
        if value is not REMOVED:
            member = build_member(path[-1], value)  # type: ignore[arg-type]  # it is a value
            operations.append(PatchOperation(at, "add", path, member))
        elif change.is_set(path):
            operations.append(PatchOperation(at, "remove", path))
    return operations


def delete_twin(
    context: GraphContext, transaction: GraphTransaction, node_id: str, *, detach: bool
) -> Sequence[tuple[str, str]] | None:
    """Delete a twin, with `detach` also its relationships, whose keys are returned.

    None: it has relationships, and nothing was deleted.
    """
    if detach:
        return RemoveTwin(node_id, UNCONDITIONED).apply(context, transaction)
    if transaction.has_relationships(node_id):
        return None
    DeleteTwin(node_id, UNCONDITIONED).apply(context, transaction)
    return ()
