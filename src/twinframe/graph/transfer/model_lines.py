"""The models section of an import: validated as a whole, stored in pieces.

A model that exists with the same document is skipped, so that an import can be repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Final

import orjson

from twinframe.errors import EmptyBody, ImportFileInvalid, InvalidArgument, ModelAlreadyExists
from twinframe.graph.context.context import GraphContext
from twinframe.graph.documents.twins import is_source_time
from twinframe.graph.models.uploads import Outline, cut_pieces, outline_model, parse_piece
from twinframe.graph.transfer.lines import PARSED, Numbered, pause_for_writers
from twinframe.graph.transfer.progress import Finding, Progress, build_finding
from twinframe.graph.transfer.sections import Header, Section
from twinframe.graph.twins.changes import decommission_model, write_models
from twinframe.model.clock import render_upload_time
from twinframe.model.ids import parse_model_id
from twinframe.model.json import JsonLimits, parse_json
from twinframe.model.values import JsonValue
from twinframe.storage.base import ChangeKind, GraphSession, GraphTransaction, ModelRecord

_ID: Final = "@id"
_CHANGED: Final = -1
"""No version of the models: they have changed since they were validated."""
_CONTEXT: Final = "dtmi:dtdl:context;3"


class ModelSection:
    """All models of a file, on their way into the store.

    Their lines are kept as text, and are parsed and stored in pieces, in the order of dependency.
    All are validated before the first of them is stored.
    """

    looks: ClassVar[bool] = True

    def __init__(
        self,
        context: GraphContext,
        header: Header,
        lines: Sequence[Numbered[bytes]],
        pause_seconds: float = 0.0,
    ) -> None:
        json = context.settings.json_
        self._context = context
        self._header = header
        self._limits = JsonLimits(json.max_depth, json.max_keys)
        self._pause_seconds = pause_seconds
        self._lines: list[Numbered[bytes]] = []
        self._outlines: list[Outline] = []
        self.findings = self._read(lines)
        self._pieces: Sequence[Sequence[ModelRecord]] = ()
        self._versions: dict[int, int] = {}

    @property
    def parts(self) -> int:
        """The number of transactions to store them: one for each piece, at least one."""
        return max(1, len(self._pieces))

    def look(self, session: GraphSession) -> None:
        """Parse the new ones in the state that `session` sees.

        Errors: `ModelParsingFailed`, `ModelVersionNotSupported`, `ModelAlreadyExists`,
        `ImportFileInvalid`, `LimitExceeded`.
        """
        self._check_ids()
        new = [place for place in range(len(self._lines)) if self._is_new(session, place)]
        known = {self._outlines[place].model_id: place for place in new}
        moment = render_upload_time(self._context.write_clock())

        def find(model_id: str) -> JsonValue:
            return self._parse(known[model_id]) if model_id in known else None

        pieces: list[Sequence[ModelRecord]] = []
        outlines = [self._outlines[place] for place in new]
        for piece in pause_for_writers(cut_pieces(outlines), 1, self._pause_seconds):
            places = [new[at] for at in piece]
            records = parse_piece(session, list(map(self._parse, places)), moment, find)
            pieces.append([self._restore(record) for record in records])
        self._pieces = pieces
        self._versions = {0: session.read_schema_version()}

    def judge(self, _pause_seconds: float = 0.0) -> None:
        """Do nothing: `look` has done it."""

    def store(
        self, transaction: GraphTransaction, before: Progress, end: int, part: int = 0
    ) -> tuple[Progress, Sequence[Finding]]:
        """Store the models of one part, all or none; the last one returns the progress after `end`.

        Errors: as `look`.
        """
        records: Sequence[ModelRecord] = self._pieces[part] if self._pieces else ()
        is_changed = self._versions[part] != transaction.read_schema_version()
        if is_changed:
            records = self._judge_again(transaction, records)
        write_models(self._context, transaction, self._stamp(records))
        models = before.models + len(records)
        if part + 1 < self.parts:
            # Changes by other writers may concern any of the following parts.
            version = transaction.read_schema_version()
            self._versions[part + 1] = _CHANGED if is_changed else version
            return replace(before, section=Section.MODELS, models=models), ()
        deleted = self._build_deleted(transaction, render_upload_time(self._context.write_clock()))
        if deleted:
            transaction.put_models(deleted)
            recorder = self._context.recorder.silence()  # they were deleted long before
            for record in deleted:
                recorder.record_model(transaction, ChangeKind.MODEL_CREATED, record.model_id)
        done = before.advance(end, Section.MODELS, ())
        # NOTE: models that an interrupted import stored before count as stored, not skipped.
        return replace(done, models=models, skipped=len(self._lines) - models), ()

    def _read(self, lines: Sequence[Numbered[bytes]]) -> list[Finding]:
        """Keep the lines that are JSON, and their outlines; return the findings of the others."""
        findings: list[Finding] = []
        for each in pause_for_writers(lines, PARSED, self._pause_seconds):
            try:
                document = parse_json(each.value, self._limits)
            except EmptyBody:
                continue
            except InvalidArgument as error:
                findings.append(build_finding(each.number, Section.MODELS, "", error))
                continue
            self._lines.append(each)
            self._outlines.append(outline_model(document, len(each.value)))
        return findings

    def _parse(self, place: int) -> JsonValue:
        return parse_json(self._lines[place].value, self._limits)

    def _check_ids(self) -> None:
        found: set[str] = set()
        for (number, _), outline in zip(self._lines, self._outlines, strict=True):
            if not outline.model_id:
                raise ImportFileInvalid(f"The model has no {_ID}.", line=number)
            if outline.model_id in found:
                raise ImportFileInvalid(
                    f"The model {outline.model_id!a} is in the file already.", line=number
                )
            found.add(outline.model_id)

    def _is_new(self, session: GraphSession, place: int) -> bool:
        """Return whether it is not stored. Raises `ModelAlreadyExists` for another of its id."""
        outline, line = self._outlines[place], self._lines[place]
        stored = session.read_model(outline.model_id)
        if stored is None:
            most = self._context.settings.graph.max_model_bytes
            if len(line.value) > most and (size := len(orjson.dumps(self._parse(place)))) > most:
                raise ImportFileInvalid(
                    f"The model has {size} bytes; at most {most} are taken.", line=line.number
                )
            return True
        if not _is_same(stored.document, self._parse(place)):
            raise ModelAlreadyExists(outline.model_id)
        return False

    def _judge_again(
        self, transaction: GraphTransaction, records: Sequence[ModelRecord]
    ) -> Sequence[ModelRecord]:
        """Return those of a part that are still new, after other models changed meanwhile."""
        new = []
        for record in records:
            stored = transaction.read_model(record.model_id)
            if stored is None:
                new.append(record)
            elif not _is_same(stored.document, orjson.loads(record.document)):
                raise ModelAlreadyExists(record.model_id)
        moment = render_upload_time(self._context.write_clock())
        documents = [orjson.loads(record.document) for record in new]
        return [self._restore(record) for record in parse_piece(transaction, documents, moment)]

    def _stamp(self, records: Sequence[ModelRecord]) -> Sequence[ModelRecord]:
        """Set the current time, except where the header gives the model's own."""
        # Read here, not before: writes that come first must not have a later time.
        moment = render_upload_time(self._context.write_clock())
        known = self._header.models
        return [
            record if record.model_id in known else replace(record, upload_time=moment)
            for record in records
        ]

    def _restore(self, record: ModelRecord) -> ModelRecord:
        facts = self._header.models.get(record.model_id)
        if facts is None:
            return record
        if not is_source_time(facts.uploaded):
            raise ImportFileInvalid(
                f"The uploadTime of {record.model_id} in the header is no time.", line=2
            )
        return replace(record, upload_time=facts.uploaded)

    def _build_deleted(self, session: GraphSession, moment: str) -> list[ModelRecord]:
        """Build the deleted models that give twins of them their labels during the import."""
        return [
            ModelRecord(
                model_id=parse_model_id(one.model_id),
                document=_render_stand_in(one.model_id),
                display_name=b"{}",
                description=b"{}",
                extends=tuple(map(parse_model_id, one.ancestors)),
                components=(),
                upload_time=moment,
            )
            for one in self._header.deleted
            if session.read_model(one.model_id) is None
        ]


def finish_models(context: GraphContext, transaction: GraphTransaction, header: Header) -> None:
    """After the last line: decommission models as the header says, and remove deleted ones."""
    for model_id, facts in header.models.items():
        record = transaction.read_model(model_id) if facts.decommissioned else None
        if record is not None and not record.decommissioned:
            decommission_model(context, transaction, record)
    found = (transaction.read_model(one.model_id) for one in header.deleted)
    stand_ins = [record for record in found if record is not None and stands_in(record)]
    if stand_ins:
        transaction.delete_models([record.model_id for record in stand_ins])
        for record in stand_ins:
            context.recorder.silence().record_model_deleted(transaction, record)


def stands_in(record: ModelRecord) -> bool:
    """Return whether it represents a deleted model while its twins are imported."""
    return _is_same(record.document, orjson.loads(_render_stand_in(record.model_id)))


def _render_stand_in(model_id: str) -> bytes:
    """Render the document that represents a deleted model while its twins are imported."""
    comment = "twinframe: stands for a deleted model while its twins are imported"
    return orjson.dumps(
        {_ID: model_id, "@type": "Interface", "@context": _CONTEXT, "comment": comment}
    )


def _is_same(stored: bytes, document: JsonValue) -> bool:
    return _sort(orjson.loads(stored)) == _sort(document)


def _sort(document: object) -> bytes:
    return orjson.dumps(document, option=orjson.OPT_SORT_KEYS)
