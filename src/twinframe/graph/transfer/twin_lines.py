"""The twin lines of an import: parsed and validated before the transaction, stored in it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, cast

import orjson

from twinframe.errors import LimitExceeded
from twinframe.graph.context.context import GraphContext
from twinframe.graph.context.model_cache import LoadedModel
from twinframe.graph.documents.twins import (
    ETAG,
    ID,
    JsonObject,
    build_failure,
    build_refusal,
    build_twin,
    list_parts,
    parse_twin_body,
)
from twinframe.graph.transfer.lines import LINE_ERRORS, RENDERED, Numbered, pause_for_writers
from twinframe.graph.transfer.progress import MOST_FIRST, Finding, Progress, build_finding
from twinframe.graph.transfer.restoring import Stamp, restore_twin
from twinframe.graph.transfer.sections import Header, Section
from twinframe.graph.twins.changes import write_twins
from twinframe.graph.twins.twins import require_found, require_own
from twinframe.model.clock import render_update_time
from twinframe.model.etags import iterate_guids, render_etag
from twinframe.model.ids import parse_twin_id
from twinframe.model.values import JsonValue
from twinframe.storage.base import GraphSession, GraphTransaction, TwinRecord


class TwinLine(NamedTuple):
    """A twin as in its line."""

    number: int
    twin_id: str
    model_id: str
    document: JsonObject


class _Draft(NamedTuple):
    """A line as it will be stored, except for the time.

    `must_stand`: the twin must exist, as the model takes no new ones.
    """

    line: TwinLine
    etag: str
    body: bytes
    must_stand: bool


@dataclass(frozen=True, slots=True)
class _Judged:
    """Lines that conform to their models in one state of these, and those that do not."""

    version: int
    stamp: Stamp
    drafts: Sequence[_Draft]
    findings: Sequence[Finding]


class TwinChunk:
    """Some lines of twins on their way into the store."""

    looks: ClassVar[bool] = True
    parts: ClassVar[int] = 1

    def __init__(
        self,
        context: GraphContext,
        header: Header,
        documents: Sequence[Numbered[JsonValue]],
        _pause_seconds: float = 0.0,
    ) -> None:
        self._context = context
        self._guids = iterate_guids()
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
        self._models: dict[str, LoadedModel | None] = {}
        self._version = -1
        self._judged: _Judged | None = None

    def look(self, session: GraphSession) -> None:
        """Read the models of the lines in the state that `session` sees."""
        models = self._context.models.open(session)
        wanted = {line.model_id for line in self._lines} - self._deleted
        self._models = {model_id: models.find(model_id) for model_id in wanted}
        self._version = session.read_schema_version()

    def judge(self, pause_seconds: float = 0.0) -> None:
        """Validate the lines against the models, and render the valid ones."""
        stamp = Stamp()
        findings: list[Finding] = []
        drafts: list[_Draft] = []
        for line in pause_for_writers(self._lines, RENDERED, pause_seconds):
            try:
                drafts.append(self._draft(line, stamp.text))
            except LINE_ERRORS as error:
                findings.append(build_finding(line.number, Section.TWINS, line.twin_id, error))
        self._judged = _Judged(self._version, stamp, drafts, findings)

    def store(
        self, transaction: GraphTransaction, before: Progress, end: int, _part: int = 0
    ) -> tuple[Progress, Sequence[Finding]]:
        """Store the valid lines; return the progress after line `end`, and the refused ones."""
        judged = self._judged
        if judged is None or judged.version != transaction.read_schema_version():
            self.look(transaction)
            self.judge()
            judged = cast("_Judged", self._judged)
        findings = [*self._refused, *judged.findings]
        drafts: list[_Draft] = []
        for draft in judged.drafts:
            line = draft.line
            try:
                if draft.must_stand:
                    require_own(transaction, line.twin_id, line.model_id)
                drafts.append(draft)
            except LINE_ERRORS as error:
                findings.append(build_finding(line.number, Section.TWINS, line.twin_id, error))
        # Read here, not before: writes that come first must not have a later time.
        now = render_update_time(self._context.write_clock())
        bodies = judged.stamp.fill((each.body for each in drafts), now)
        records = [
            TwinRecord(draft.line.twin_id, draft.line.model_id, draft.etag, body)
            for draft, body in zip(drafts, bodies, strict=True)
        ]
        replaced = write_twins(self._context, transaction, records, now)
        findings.sort(key=lambda finding: finding.line)
        done = before.advance(end, Section.TWINS, findings)
        room = MOST_FIRST - len(before.first)
        counted = replace(
            done,
            twins=before.twins + len(records),
            replaced=before.replaced + replaced,
            first=(*before.first, *(each.twin_id for each in records[:room])),
        )
        return counted, findings

    def _draft(self, line: TwinLine, now: str) -> _Draft:
        parts: Collection[str]
        must_stand = False
        if line.model_id in self._deleted:  # there is no model to validate it against
            parts = list_parts(line.document)
        else:
            model = require_found(self._models.get(line.model_id), line.model_id)
            details = model.validator.validate_twin(line.document)
            if details:
                raise build_refusal(details)
            parts = model.interface.components
            facts = self._header.models.get(line.model_id)
            must_stand = model.decommissioned and not (facts and facts.decommissioned)
        record = self._build(line, parts, now)
        return _Draft(line, record.etag, record.body, must_stand)

    def _build(self, line: TwinLine, parts: Collection[str], now: str) -> TwinRecord:
        if self._header.exact:
            record = restore_twin(line.twin_id, line.model_id, line.document, parts, now)
        else:
            record = _build_new(line, parts, now, render_etag(next(self._guids)))
        most = self._context.settings.graph.max_twin_bytes
        if len(record.body) > most:
            raise LimitExceeded(
                f"The twin has {len(record.body)} bytes; at most {most} are stored."
            )
        return record


def _build_new(line: TwinLine, parts: Collection[str], now: str, etag: str) -> TwinRecord:
    twin = build_twin(line.twin_id, line.model_id, line.document, parts, now)
    twin[ETAG] = etag
    return TwinRecord(line.twin_id, line.model_id, etag, orjson.dumps(twin))


def _parse_line(each: Numbered[JsonValue]) -> TwinLine:
    document, model_id = parse_twin_body(each.value)
    twin_id = document.get(ID)
    if not isinstance(twin_id, str):
        raise build_failure(f"The line has no {ID}, the id of its twin.")
    return TwinLine(each.number, parse_twin_id(twin_id), model_id, document)
