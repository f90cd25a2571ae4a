"""The section of models: stored together, in one work. It reads no file.

A model that is there with the same document is skipped, so that an import can be repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final, cast

import orjson

from twinframe.errors import ImportFileInvalid, ModelAlreadyExists
from twinframe.graph.changes import decommission_model, write_models
from twinframe.graph.context import GraphContext
from twinframe.graph.models import parse_upload
from twinframe.graph.portable.progress import Finding, Progress
from twinframe.graph.portable.sections import Header, Section
from twinframe.graph.portable.values import Numbered
from twinframe.graph.twin_documents import is_source_time
from twinframe.model.clock import render_upload_time
from twinframe.model.ids import parse_model_id
from twinframe.model.values import JsonValue
from twinframe.storage.base import GraphSession, GraphTransaction, ModelRecord

_ID: Final = "@id"
_CONTEXT: Final = "dtmi:dtdl:context;3"


@dataclass(frozen=True, slots=True)
class _Judged:
    """What is to be stored, found in one state of the models."""

    version: int
    records: Sequence[ModelRecord]
    deleted: Sequence[ModelRecord]


class ModelSection:
    """All models of a file, on their way into the store."""

    looks: ClassVar[bool] = True

    def __init__(
        self,
        context: GraphContext,
        header: Header,
        documents: Sequence[Numbered[JsonValue]],
        _breath: float = 0.0,
    ) -> None:
        self._context = context
        self._header = header
        self._documents = documents
        self._judged: _Judged | None = None

    def look(self, session: GraphSession) -> None:
        """Parse what is new in the state that `session` sees.

        Errors: `ModelParsingFailed`, `ModelVersionNotSupported`, `ModelAlreadyExists`,
        `ImportFileInvalid`, `LimitExceeded`.
        """
        new = self._select(session)
        moment = render_upload_time(self._context.clock())
        records: Sequence[ModelRecord] = ()
        if new:
            records = parse_upload(session, [each.value for each in new], moment).records
        self._judged = _Judged(
            session.read_schema_version(),
            [self._restore(record) for record in records],
            self._build_deleted(session, moment),
        )

    def judge(self, _breath: float = 0.0) -> None:
        """Nothing is left to do."""

    def store(
        self, transaction: GraphTransaction, before: Progress, end: int
    ) -> tuple[Progress, Sequence[Finding]]:
        """Store the models that are new, all or none; the progress behind line `end`.

        Errors: as `look`.
        """
        judged = self._judged
        if judged is None or judged.version != transaction.read_schema_version():
            self.look(transaction)
            judged = cast("_Judged", self._judged)
        write_models(self._context, transaction, judged.records)
        if judged.deleted:
            transaction.put_models(judged.deleted)
        done = before.advance(end, Section.MODELS, ())
        return replace(
            done,
            models=before.models + len(judged.records),
            skipped=before.skipped + len(self._documents) - len(judged.records),
        ), ()

    def _select(self, session: GraphSession) -> Sequence[Numbered[JsonValue]]:
        new: list[Numbered[JsonValue]] = []
        lines: dict[str, int] = {}
        for each in self._documents:
            model_id = each.value.get(_ID) if isinstance(each.value, dict) else None
            if not isinstance(model_id, str):
                raise ImportFileInvalid(f"The model has no {_ID}.", line=each.number)
            if model_id in lines:
                raise ImportFileInvalid(
                    f"The model {model_id!a} stands in line {lines[model_id]} already.",
                    line=each.number,
                )
            lines[model_id] = each.number
            stored = session.read_model(model_id)
            if stored is None:
                new.append(each)
            elif not _is_same(stored.document, each.value):
                raise ModelAlreadyExists(model_id)
            self._check_size(each)
        return new

    def _check_size(self, each: Numbered[JsonValue]) -> None:
        most, size = self._context.settings.graph.max_model_bytes, len(orjson.dumps(each.value))
        if size > most:
            raise ImportFileInvalid(
                f"The model has {size} bytes; at most {most} are taken.", line=each.number
            )

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
        """Models for the time of the import: twins that name them get their labels by these."""
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
    """Behind the last line: decommission what was, and take away what only twins still name."""
    for model_id, facts in header.models.items():
        record = transaction.read_model(model_id) if facts.decommissioned else None
        if record is not None and not record.decommissioned:
            decommission_model(context, transaction, record)
    stand_ins = [one.model_id for one in header.deleted if _stands_in(transaction, one.model_id)]
    if stand_ins:
        transaction.delete_models(stand_ins)


def _stands_in(session: GraphSession, model_id: str) -> bool:
    record = session.read_model(model_id)
    return record is not None and _is_same(
        record.document, orjson.loads(_render_stand_in(model_id))
    )


def _render_stand_in(model_id: str) -> bytes:
    """The document that stands for a deleted model while its twins are imported."""
    comment = "twinframe: stands for a deleted model while its twins are imported"
    return orjson.dumps(
        {_ID: model_id, "@type": "Interface", "@context": _CONTEXT, "comment": comment}
    )


def _is_same(stored: bytes, document: JsonValue) -> bool:
    return _sort(orjson.loads(stored)) == _sort(document)


def _sort(document: object) -> bytes:
    return orjson.dumps(document, option=orjson.OPT_SORT_KEYS)
