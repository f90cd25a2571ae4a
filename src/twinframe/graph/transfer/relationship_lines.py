"""The relationship lines of an import: parsed before the transaction, validated and stored in it.

SPEC: `$dtId` of a line is the source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Final, NamedTuple, cast

from twinframe.errors import InvalidArgument, LimitExceeded, TargetTwinNotFound, TwinNotFound
from twinframe.graph.context.context import GraphContext
from twinframe.graph.documents.relationships import (
    ID,
    RelationshipBody,
    parse_relationship_body,
    render_relationship,
)
from twinframe.graph.documents.twins import ID as TWIN_ID
from twinframe.graph.documents.twins import JsonObject
from twinframe.graph.transfer.lines import LINE_ERRORS, RENDERED, Numbered, pause_for_writers
from twinframe.graph.transfer.progress import Finding, Progress, build_finding
from twinframe.graph.transfer.restoring import restore_relationship
from twinframe.graph.transfer.sections import Header, Section
from twinframe.graph.twins.changes import write_relationships
from twinframe.graph.twins.relationships import (
    RelationshipJudge,
    parse_relationship_key,
)
from twinframe.model.clock import render_update_time
from twinframe.model.etags import iterate_guids, render_etag
from twinframe.model.values import JsonValue
from twinframe.storage.base import GraphSession, GraphTransaction, RelationshipRecord

_LABEL: Final = "{} of {}"


class RelationshipLine(NamedTuple):
    """A relationship as in its line, and as it will be stored."""

    number: int
    body: RelationshipBody
    record: RelationshipRecord

    @property
    def item(self) -> str:
        """Its name in findings."""
        return _LABEL.format(self.record.relationship_id, self.record.source_id)


class RelationshipChunk:
    """Some lines of relationships on their way into the store.

    Those that stood where a history begins, `is_past`, may be of twins with another model since.
    """

    is_past: ClassVar[bool] = False
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
        self._guids = iterate_guids()
        self._header = header
        self._deleted = frozenset(one.model_id for one in header.deleted)
        self._lines: list[RelationshipLine] = []
        self._refused: list[Finding] = []
        for each in pause_for_writers(documents, RENDERED, pause_seconds):
            try:
                self._lines.append(self._parse(each))
            except LINE_ERRORS as error:
                finding = build_finding(
                    each.number, Section.RELATIONSHIPS, _find_item(each.value), error
                )
                self._refused.append(finding)
        records = [line.record for line in self._lines]
        ends = {each.source_id for each in records} | {each.target_id for each in records}
        self._ends = sorted(ends)  # PERF: neighbours in the index, found one after the other

    def look(self, session: GraphSession) -> None:
        """Do nothing before the transaction.

        PERF: the models of the ends would have to be read again in the transaction, which takes
        longer than validating.
        """

    def judge(self, _pause_seconds: float = 0.0) -> None:
        """Do nothing before the transaction."""

    def store(
        self, transaction: GraphTransaction, before: Progress, end: int, _part: int = 0
    ) -> tuple[Progress, Sequence[Finding]]:
        """Store the valid lines; return the progress after line `end`, and the refused ones."""
        models = transaction.read_twin_models(self._ends)
        judge = RelationshipJudge(self._context, transaction)
        lines: list[RelationshipLine] = []
        findings = list(self._refused)
        for line in self._lines:
            try:
                self._check(judge, models, line)
            except LINE_ERRORS as error:
                finding = build_finding(line.number, Section.RELATIONSHIPS, line.item, error)
                findings.append(finding)
            else:
                lines.append(line)
        records = [each.record for each in lines]
        # Read here, not before: writes that come first must not have a later time.
        now = render_update_time(self._context.write_clock())
        write_relationships(self._context, transaction, records, models, now)
        findings.sort(key=lambda finding: finding.line)
        done = before.advance(end, Section.RELATIONSHIPS, findings)
        return replace(done, relationships=before.relationships + len(records)), findings

    def _check(
        self, judge: RelationshipJudge, models: Mapping[str, str], line: RelationshipLine
    ) -> None:
        source_id, target_id = line.record.source_id, line.record.target_id
        source_model = models.get(source_id)
        if source_model is None:
            raise TwinNotFound(source_id)
        if source_model not in self._deleted and not self.is_past:
            judge.check(source_id, source_model, line.body, models.get(target_id))
        elif target_id not in models:
            raise TargetTwinNotFound(target_id)

    def _parse(self, each: Numbered[JsonValue]) -> RelationshipLine:
        body = parse_relationship_body(each.value)
        document = cast("JsonObject", each.value)
        source_id, relationship_id = document.get(TWIN_ID), document.get(ID)
        if not isinstance(source_id, str) or not isinstance(relationship_id, str):
            raise InvalidArgument(
                f"The line needs {TWIN_ID}, the id of the source, and {ID}, both strings."
            )
        parse_relationship_key(source_id, relationship_id)
        body.properties.pop(TWIN_ID, None)
        if self._header.exact:
            record = restore_relationship(source_id, relationship_id, body, document)
        else:
            etag = render_etag(next(self._guids))
            record = render_relationship(source_id, relationship_id, body, etag)
        most = self._context.settings.graph.max_twin_bytes
        if len(record.body) > most:
            raise LimitExceeded(
                f"The relationship would have {len(record.body)} bytes; at most {most} are stored."
            )
        return RelationshipLine(each.number, body, record)


class PastRelationshipChunk(RelationshipChunk):
    """Lines of relationships that stood where a history begins."""

    is_past = True


def _find_item(value: JsonValue) -> str:
    if not isinstance(value, dict):
        return ""
    names = value.get(ID), value.get(TWIN_ID)
    return _LABEL.format(*names) if all(isinstance(name, str) for name in names) else ""
