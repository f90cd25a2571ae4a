"""The lines of changes of a history: parsed before the transaction, replayed in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import ClassVar, Final, NamedTuple, cast

import orjson

from twinframe.errors import (
    Conflict,
    InvalidArgument,
    LimitExceeded,
    ModelNotFound,
    RelationshipNotFound,
    TwinframeError,
    TwinNotFound,
)
from twinframe.errors.nearest import render_suggestion
from twinframe.graph.context.context import GraphContext
from twinframe.graph.documents.relationships import ID as OWN_ID
from twinframe.graph.documents.relationships import SOURCE, parse_relationship_body
from twinframe.graph.documents.twins import (
    ID,
    JsonObject,
    build_refusal,
    list_parts,
    parse_twin_body,
)
from twinframe.graph.history.history import parse_instant
from twinframe.graph.models.uploads import parse_upload
from twinframe.graph.transfer.lines import LINE_ERRORS, RENDERED, Numbered, pause_for_writers
from twinframe.graph.transfer.model_lines import stands_in
from twinframe.graph.transfer.past_lines import (
    CHANGE,
    COUNT,
    DOCUMENT,
    ITEM,
    NAMES,
    RELATIONSHIP,
    TIME,
    UPLOADED,
    WHO,
)
from twinframe.graph.transfer.progress import Finding, Progress, build_finding
from twinframe.graph.transfer.restoring import restore_relationship, restore_twin
from twinframe.graph.transfer.sections import Header, Section
from twinframe.graph.twins.changes import (
    decommission_model,
    remove_relationship,
    remove_twin,
    write_models,
)
from twinframe.graph.twins.relationships import RelationshipJudge, parse_relationship_key
from twinframe.graph.twins.twins import require_found
from twinframe.model.clock import render_update_time
from twinframe.model.ids import parse_model_id, parse_twin_id
from twinframe.model.values import JsonValue
from twinframe.storage.base import (
    ChangeKind,
    EntityKey,
    GraphSession,
    GraphTransaction,
    StoredDocument,
)

_KINDS: Final[Mapping[str, ChangeKind]] = {name: kind for kind, name in NAMES.items()}
_OF_TWINS: Final = frozenset(
    {ChangeKind.TWIN_CREATED, ChangeKind.TWIN_UPDATED, ChangeKind.TWIN_DELETED}
)
_OF_RELATIONSHIPS: Final = frozenset(
    {
        ChangeKind.RELATIONSHIP_CREATED,
        ChangeKind.RELATIONSHIP_UPDATED,
        ChangeKind.RELATIONSHIP_DELETED,
    }
)
_CREATIONS: Final = frozenset({ChangeKind.TWIN_CREATED, ChangeKind.RELATIONSHIP_CREATED})
_WITH_DOCUMENT: Final = frozenset(
    {*_CREATIONS, ChangeKind.TWIN_UPDATED, ChangeKind.RELATIONSHIP_UPDATED}
) | {ChangeKind.MODEL_CREATED}


class Change(NamedTuple):
    """A change as in its line; the document is that after it. A new model has its `uploaded`."""

    kind: ChangeKind
    moment: int
    who: str
    key: EntityKey
    document: JsonObject
    uploaded: str = ""


class ChangeChunk:
    """Some changes on their way into the graph.

    `is_whole`: the last line of the section is among them.
    """

    looks: ClassVar[bool] = False
    parts: ClassVar[int] = 1

    def __init__(
        self,
        context: GraphContext,
        header: Header,
        documents: Sequence[Numbered[JsonValue]],
        pause_seconds: float = 0.0,
    ) -> None:
        self._context = context
        self._since = header.since or 0
        self._changes: list[Numbered[Change]] = []
        self._refused: list[Finding] = []
        self._end: Numbered[JsonValue] | None = None
        for each in pause_for_writers(documents, RENDERED, pause_seconds):
            try:
                self._add(each)
            except LINE_ERRORS as error:
                self._refused.append(_build_finding(each.number, "", error))

    @property
    def is_whole(self) -> bool:
        """Whether the last line is among them."""
        return self._end is not None

    def look(self, session: GraphSession) -> None:
        """Do nothing before the transaction."""

    def judge(self, _pause_seconds: float = 0.0) -> None:
        """Do nothing before the transaction: each change is of the state that the others left."""

    def store(
        self, transaction: GraphTransaction, before: Progress, end: int, _part: int = 0
    ) -> tuple[Progress, Sequence[Finding]]:
        """Make the changes up to the first that cannot be made; return it as the finding."""
        done = before.advance(end, Section.CHANGES, self._refused)
        done = replace(done, changes=before.changes + len(self._changes))
        if self._refused:
            return done, self._refused
        replay = _Replay(self._context, transaction, self._since)
        for (kind, moment), group in groupby(self._changes, lambda each: each.value[:2]):
            for some in _batch(kind, group):
                try:
                    replay.play(kind, moment, [each.value for each in some])
                except LINE_ERRORS as error:
                    number, change = some[0]
                    return done, [_build_finding(number, _name(change), error)]
        if self._end is not None and self._end.value != done.changes:
            text = f"The section has {done.changes} changes, not {self._end.value}."
            return done, [_build_finding(self._end.number, "", InvalidArgument(text))]
        return done, ()

    def _add(self, each: Numbered[JsonValue]) -> None:
        if self._end is not None:
            raise InvalidArgument(f"Nothing may come behind the number of {COUNT}.")
        if isinstance(each.value, dict) and each.value.keys() == {COUNT}:
            self._end = Numbered(each.number, each.value[COUNT])
        else:
            self._changes.append(Numbered(each.number, parse_change(each.value)))


def _build_finding(number: int, name: str, error: TwinframeError) -> Finding:
    return build_finding(number, Section.CHANGES, name, error)


def _batch(
    kind: ChangeKind, group: Iterator[Numbered[Change]]
) -> Iterator[Sequence[Numbered[Change]]]:
    """Yield changes of one moment: models that come or go together may need each other."""
    if kind in (ChangeKind.MODEL_CREATED, ChangeKind.MODEL_DELETED):
        yield list(group)
    else:
        yield from ([each] for each in group)


def parse_change(value: JsonValue) -> Change:
    """Parse a line. Errors: `InvalidArgument`, `ValidationFailed`."""
    if not isinstance(value, dict):
        raise InvalidArgument("A change is an object.")
    name = value.get(CHANGE)
    kind = _KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        near = render_suggestion(str(name), _KINDS) or f"; there are {', '.join(_KINDS)}."
        raise InvalidArgument(f"There is no change {name!a}{near}")
    members = _list_members(kind)
    unknown = [one for one in value if one not in (*members, WHO)]
    missing = [one for one in members if one not in value]
    if unknown or missing:
        text = f"has no {missing[0]}" if missing else f"has the unknown member {unknown[0]!a}"
        raise InvalidArgument(f"The change {name} {text}; it has {', '.join(members)}.")
    texts = {one: value.get(one, "") for one in (ITEM, RELATIONSHIP, WHO, UPLOADED)}
    for one, given in texts.items():
        if not isinstance(given, str):
            raise InvalidArgument(f"{one} of a change must be a text.")
    item, own, who, uploaded = cast("Iterator[str]", texts.values())
    if kind in _OF_TWINS:
        parse_twin_id(item)
    elif kind in _OF_RELATIONSHIPS:
        parse_relationship_key(item, own)
    else:
        parse_model_id(item)
    document = value.get(DOCUMENT, {})
    if not isinstance(document, dict):
        raise InvalidArgument(f"{DOCUMENT} of a change must be an object.")
    if kind == ChangeKind.MODEL_CREATED:
        uploaded = render_update_time(parse_instant(uploaded, UPLOADED)) and uploaded
        own_id = {"@id": item}
    else:
        own_id = {OWN_ID: own, SOURCE: item} if own else {ID: item}
    if DOCUMENT in members and any(document.get(one) != text for one, text in own_id.items()):
        raise InvalidArgument(f"The document of {item} is of another.")
    moment = parse_instant(value[TIME], TIME)
    return Change(kind, moment, who, (item, own), document, uploaded)


def _list_members(kind: ChangeKind) -> list[str]:
    members = [CHANGE, TIME, ITEM]
    members += [RELATIONSHIP] if kind in _OF_RELATIONSHIPS else []
    members += [DOCUMENT] if kind in _WITH_DOCUMENT else []
    return members + ([UPLOADED] if kind == ChangeKind.MODEL_CREATED else [])


class _Replay:
    """Makes changes again, in one transaction."""

    def __init__(self, context: GraphContext, transaction: GraphTransaction, since: int) -> None:
        self._outer = self._context = context
        self._transaction = transaction
        last = transaction.read_moment(transaction.read_event_bounds()[1])
        self._last = max(since, 0 if last is None else last[1])
        self._now = context.write_clock()

    def play(self, kind: ChangeKind, moment: int, changes: Sequence[Change]) -> None:
        """Make one change, or several of models that were made together."""
        if moment < self._last:
            raise InvalidArgument(
                f"{TIME} {render_update_time(moment)} is before that of the change before it."
            )
        if moment > self._now:
            raise InvalidArgument(f"{TIME} {render_update_time(moment)} is in the future.")
        self._last = moment
        who = changes[0].who if self._outer.settings.history.who else ""
        self._context = replace(self._outer, recorder=self._outer.recorder.go_back(moment, who))
        if kind in _OF_TWINS:
            self._play_twin(changes[0])
        elif kind in _OF_RELATIONSHIPS:
            self._play_relationship(changes[0])
        elif kind == ChangeKind.MODEL_CREATED:
            self._create_models(changes)
        elif kind == ChangeKind.MODEL_DELETED:
            self._delete_models(changes)
        else:
            record = self._transaction.read_model(changes[0].key[0])
            if record is None:
                raise ModelNotFound(changes[0].key[0])
            decommission_model(self._context, self._transaction, record)

    # --- twins and relationships ----------------------------------------------------------------

    def _play_twin(self, change: Change) -> None:
        transaction, (twin_id, _) = self._transaction, change.key
        before = transaction.read_twin(twin_id)
        _check_presence(change, before is not None)
        if change.kind == ChangeKind.TWIN_DELETED:
            if before is None:
                raise TwinNotFound(twin_id)
            remove_twin(self._context, transaction, twin_id, before)
            return
        document, model_id = parse_twin_body(change.document)
        parts = list_parts(document) | self._judge_twin(document, model_id, before)
        record = restore_twin(twin_id, model_id, document, parts, render_update_time(self._last))
        self._check_size(record.body)
        transaction.put_twin(record)
        self._context.recorder.record_twin_put(
            transaction, twin_id, orjson.loads(record.body), record.body, before
        )

    def _judge_twin(
        self, document: JsonObject, model_id: str, before: StoredDocument | None
    ) -> frozenset[str]:
        """Refuse what no write could have stored then; return the names of the components.

        What its model does not allow may stand in a twin since the model was replaced.
        """
        model = self._context.models.open(self._transaction).find(model_id)
        former = None if before is None else cast("JsonObject", orjson.loads(before.body))
        if model is None:
            if former is None or parse_twin_body(former)[1] != model_id:
                require_found(model, model_id)
            return frozenset()
        record = self._transaction.read_model(model_id)
        if record is not None and stands_in(record):
            return frozenset()
        details = model.validator.validate_twin(document)
        if details:
            known = () if former is None else model.validator.validate_twin(former)
            if not set(details) <= set(known):
                raise build_refusal(details)
        return frozenset(model.interface.components)

    def _play_relationship(self, change: Change) -> None:
        transaction, key = self._transaction, change.key
        before = transaction.read_relationship(*key)
        _check_presence(change, before is not None)
        if change.kind == ChangeKind.RELATIONSHIP_DELETED:
            if before is None:
                raise RelationshipNotFound(*key)
            remove_relationship(self._context, transaction, key, before)
            return
        body = parse_relationship_body(change.document)
        source_model = transaction.read_twin_model(key[0])
        if source_model is None:
            raise TwinNotFound(key[0])
        record = transaction.read_model(source_model)
        if record is None or not stands_in(record):
            judge = RelationshipJudge(self._context, transaction)
            target_model = transaction.read_twin_model(body.target_id)
            try:
                judge.check(key[0], source_model, body, target_model)
            except LINE_ERRORS:
                # The model was replaced since: only what comes must be allowed by it.
                if before is None:
                    raise
        restored = restore_relationship(*key, body, change.document)
        self._check_size(restored.body)
        transaction.put_relationship(restored)
        self._context.recorder.record_relationship_put(transaction, key, restored.body, before)

    def _check_size(self, body: bytes) -> None:
        most = self._context.settings.graph.max_twin_bytes
        if len(body) > most:
            raise LimitExceeded(f"The document has {len(body)} bytes; at most {most} are stored.")

    # --- models ---------------------------------------------------------------------------------

    def _create_models(self, changes: Sequence[Change]) -> None:
        documents: list[JsonValue] = [change.document for change in changes]
        moment = render_update_time(self._last)
        records = parse_upload(self._transaction, documents, moment).records
        restored = [
            replace(record, upload_time=change.uploaded)
            for record, change in zip(records, changes, strict=True)
        ]
        write_models(self._context, self._transaction, restored)

    def _delete_models(self, changes: Sequence[Change]) -> None:
        transaction, ids = self._transaction, [change.key[0] for change in changes]
        records = [transaction.read_model(model_id) for model_id in ids]
        transaction.delete_models(ids)
        for record in records:
            if record is not None:
                self._context.recorder.record_model_deleted(transaction, record)


def _check_presence(change: Change, is_present: bool) -> None:
    if is_present == (change.kind in _CREATIONS):
        there = "is there already" if is_present else "is not there"
        raise Conflict(f"{NAMES[change.kind]}: {_name(change)} {there}.")


def _name(change: Change) -> str:
    return " of ".join(filter(None, reversed(change.key)))
