"""The models as they were at a position of the history, and the labels of twins by them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from twinframe.graph.events.rows import parse_record, parse_row
from twinframe.model.ids import build_labels
from twinframe.storage.base import ChangeKind, GraphSession, ModelRecord


class PastModels:
    """The models at a position, in one snapshot of a session."""

    def __init__(self, session: GraphSession, position: int) -> None:
        self._session = session
        self._position = position
        self._ancestors: dict[str, frozenset[str]] = {}

    @cached_property
    def _changes(self) -> tuple[dict[str, tuple[int, ChangeKind | None]], dict[str, ModelRecord]]:
        """Return the first change of each model after the position, and the first deletion."""
        first: dict[str, tuple[int, ChangeKind | None]] = {}
        deleted: dict[str, ModelRecord] = {}
        for at, event in self._session.read_model_changes(after=self._position):
            first.setdefault(event.subject, (at, event.kind))
            if event.kind == ChangeKind.MODEL_DELETED and event.subject not in deleted:
                deleted[event.subject] = _read_record(event.body)
        return first, deleted

    @cached_property
    def version(self) -> int:
        """The schema version: the present one, or one that no store gives.

        Between two changes of models it is the same: the position of the next change.
        """
        first, _ = self._changes
        if not first:
            return self._session.read_schema_version()
        return -1 - min(at for at, _ in first.values())

    @cached_property
    def is_present(self) -> bool:
        """Whether the same models are stored now, so that all labels are the same."""
        first, deleted = self._changes
        return not deleted and all(
            kind == ChangeKind.MODEL_DECOMMISSIONED for _, kind in first.values()
        )

    def find_first_change(self, model_id: str) -> int | None:
        """Return the position of its first change after this state, or None."""
        found = self._changes[0].get(model_id)
        return None if found is None else found[0]

    def read(self, model_id: str) -> ModelRecord | None:
        """Return the model, or None."""
        first, deleted = self._changes
        if model_id not in first:
            return self._session.read_model(model_id)
        _, kind = first[model_id]
        if kind == ChangeKind.MODEL_CREATED:
            return None
        record = deleted.get(model_id) or self._session.read_model(model_id)
        if record is not None and kind == ChangeKind.MODEL_DECOMMISSIONED:
            return replace(record, decommissioned=False)
        return record

    def read_page(self, after: int, limit: int) -> Sequence[ModelRecord]:
        """Return models by order of upload with a `position` beyond `after`."""
        _, deleted = self._changes
        gone = sorted(
            (record.position, model_id)
            for model_id, record in deleted.items()
            if record.position > after and self.read(model_id) is not None
        )
        found: list[ModelRecord] = []
        while len(found) < limit:
            present = self._session.read_models(after=after, limit=limit)
            is_last = len(present) < limit
            end = None if is_last else present[-1].position
            ids = [(each.position, each.model_id) for each in present]
            ids += [each for each in gone if each[0] > after and (end is None or each[0] <= end)]
            for position, model_id in sorted(ids):
                record = self.read(model_id)
                if record is not None and record.position == position:
                    found.append(record)
            if end is None:
                break
            after = end
        return found[:limit]

    def iterate(self) -> Iterator[ModelRecord]:
        """Yield all models by order of upload."""
        after = 0
        while records := self.read_page(after, 100):
            yield from records
            after = records[-1].position

    def read_labels(self, model_id: str) -> frozenset[str]:
        """Return the labels of a twin of this model, stored or not."""
        return build_labels(self.read_ancestors(model_id))

    def read_ancestors(self, model_id: str) -> frozenset[str]:
        """Return the models that it extends, and itself."""
        found = self._ancestors.get(model_id)
        if found is None:
            above, waiting = {model_id}, [model_id]
            while waiting:
                new = set(self._read_extends(waiting.pop())) - above
                above |= new
                waiting += new
            found = self._ancestors[model_id] = frozenset(above)
        return found

    def _read_extends(self, model_id: str) -> Sequence[str]:
        record = self.read(model_id)
        if record is not None:
            return record.extends
        if model_id in self._deleted_before:
            return self._deleted_before[model_id].extends
        # Deleted before the kept range: the store knows what it extends while twins have it.
        known = self._session.read_model_ids()
        if model_id not in known:
            return ()
        return [base for base in known if model_id in self._session.read_descendants(base)]

    @cached_property
    def _deleted_before(self) -> dict[str, ModelRecord]:
        """The models whose last change up to the position was a deletion."""
        return {
            event.subject: _read_record(event.body)
            for at, event in self._session.read_model_changes(after=0)
            if at <= self._position and event.kind == ChangeKind.MODEL_DELETED
            if (row := parse_row(event.body)) is not None and row.difference
        }

    def read_ids(self) -> frozenset[str]:
        """Return the models that were known: stored, or still named."""
        known = self._session.read_model_ids()
        if self.is_present:
            return known
        first, _ = self._changes
        now = {x for x in known if x not in first or x in self._deleted_before}
        return frozenset(now).union(record.model_id for record in self.iterate())

    def read_descendants(self, model_id: str) -> frozenset[str]:
        """Return the known models that extend it, and itself."""
        if self.is_present:
            return self._session.read_descendants(model_id)
        return frozenset(x for x in self.read_ids() if model_id in self.read_ancestors(x))


def _read_record(body: bytes) -> ModelRecord:
    row = parse_row(body)
    if row is None:
        raise ValueError("the row of a model has a head")
    return parse_record(row.difference)
