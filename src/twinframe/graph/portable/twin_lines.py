"""Lines of twins: parsed and judged beside the writer, stored in one work. It reads no file."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import cast

import orjson

from twinframe.errors import LimitExceeded
from twinframe.graph.changes import write_twins
from twinframe.graph.context import GraphContext
from twinframe.graph.model_cache import ModelView
from twinframe.graph.portable.progress import Finding, Progress, build_finding
from twinframe.graph.portable.restoring import restore_twin
from twinframe.graph.portable.sections import Header, Section
from twinframe.graph.portable.values import LINE_ERRORS, Numbered
from twinframe.graph.twin_commands import require_model, require_own
from twinframe.graph.twin_documents import (
    ETAG,
    ID,
    JsonObject,
    build_failure,
    build_refusal,
    build_twin,
    list_parts,
    parse_twin_body,
)
from twinframe.model.clock import render_update_time
from twinframe.model.etags import build_etag
from twinframe.model.ids import parse_twin_id
from twinframe.model.values import JsonValue
from twinframe.storage.base import GraphSession, GraphTransaction, TwinRecord


@dataclass(frozen=True, slots=True)
class TwinLine:
    """A twin as its line gives it."""

    number: int
    twin_id: str
    model_id: str
    document: JsonObject


@dataclass(frozen=True, slots=True)
class _Judged:
    """Lines that suit their models in one state of these, and those that do not."""

    version: int
    lines: Sequence[TwinLine]
    findings: Sequence[Finding]


class TwinChunk:
    """Some lines of twins on their way into the store."""

    def __init__(
        self, context: GraphContext, header: Header, documents: Sequence[Numbered[JsonValue]]
    ) -> None:
        self._context = context
        self._header = header
        self._deleted = frozenset(one.model_id for one in header.deleted)
        self._lines: list[TwinLine] = []
        self._refused: list[Finding] = []
        for each in documents:
            try:
                self._lines.append(_parse_line(each))
            except LINE_ERRORS as error:
                item = each.value.get(ID) if isinstance(each.value, dict) else None
                name = item if isinstance(item, str) else ""
                self._refused.append(build_finding(each.number, Section.TWINS, name, error))
        self._judged: _Judged | None = None

    def judge(self, session: GraphSession) -> None:
        """Judge the lines in the state that `session` sees."""
        models = self._context.models.open(session)
        findings: list[Finding] = []
        lines = []
        for line in self._lines:
            try:
                self._check(models, line)
            except LINE_ERRORS as error:
                findings.append(build_finding(line.number, Section.TWINS, line.twin_id, error))
            else:
                lines.append(line)
        self._judged = _Judged(session.read_schema_version(), lines, findings)

    def store(
        self, transaction: GraphTransaction, before: Progress, end: int
    ) -> tuple[Progress, Sequence[Finding]]:
        """Store what suits its model; the progress behind line `end`, and what was refused."""
        judged = self._judged
        if judged is None or judged.version != transaction.read_schema_version():
            self.judge(transaction)
            judged = cast("_Judged", self._judged)
        findings = [*self._refused, *judged.findings]
        models = self._context.models.open(transaction)
        # Read here, not before: what others write meanwhile must not bear a later time.
        now = render_update_time(self._context.clock())
        records: list[TwinRecord] = []
        for line in judged.lines:
            try:
                records.append(self._build(transaction, models, line, now))
            except LINE_ERRORS as error:
                findings.append(build_finding(line.number, Section.TWINS, line.twin_id, error))
        write_twins(self._context, transaction, records)
        findings.sort(key=lambda finding: finding.line)
        done = before.advance(end, Section.TWINS, findings)
        return replace(done, twins=before.twins + len(records)), findings

    def _check(self, models: ModelView, line: TwinLine) -> None:
        if line.model_id in self._deleted:
            return  # its model is no more: nothing is left to judge it by
        details = require_model(models, line.model_id).validator.validate_twin(line.document)
        if details:
            raise build_refusal(details)

    def _build(
        self, transaction: GraphTransaction, models: ModelView, line: TwinLine, now: str
    ) -> TwinRecord:
        facts = self._header.models.get(line.model_id)
        parts: Collection[str]
        if line.model_id in self._deleted:
            parts = list_parts(line.document)
        else:
            model = require_model(models, line.model_id)
            parts = model.interface.components
            if model.decommissioned and not (facts and facts.decommissioned):
                require_own(transaction, line.twin_id, line.model_id)
        if self._header.exact:
            record = restore_twin(line.twin_id, line.model_id, line.document, parts, now)
        else:
            record = _build_new(line, parts, now)
        most = self._context.settings.graph.max_twin_bytes
        if len(record.body) > most:
            raise LimitExceeded(
                f"The twin has {len(record.body)} bytes; at most {most} are stored."
            )
        return record


def _build_new(line: TwinLine, parts: Collection[str], now: str) -> TwinRecord:
    twin = build_twin(line.twin_id, line.model_id, line.document, parts, now)
    etag = twin[ETAG] = build_etag()
    return TwinRecord(line.twin_id, line.model_id, etag, orjson.dumps(twin))


def _parse_line(each: Numbered[JsonValue]) -> TwinLine:
    document, model_id = parse_twin_body(each.value)
    twin_id = document.get(ID)
    if not isinstance(twin_id, str):
        raise build_failure(f"The line has no {ID}, the id of its twin.")
    return TwinLine(each.number, parse_twin_id(twin_id), model_id, document)
