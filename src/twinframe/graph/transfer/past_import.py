"""Imports the history of a graph: replays its changes on the state at its beginning.

The graph must be empty, and no other writer may come between: the changes are stored in their
order, each with its moment. An entry of the graph says how far an import has come, so that one that
was interrupted goes on behind its last transaction. What fails for its file is removed again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final, NamedTuple

import orjson

from twinframe.errors import ImportFileInvalid, Unsupported
from twinframe.graph.context.context import GraphContext
from twinframe.graph.history.history import KIND, START
from twinframe.graph.transfer.model_lines import finish_models
from twinframe.graph.transfer.past_lines import COUNT
from twinframe.graph.transfer.progress import BEGIN, Finding, Progress, load_progress
from twinframe.graph.transfer.sections import Header
from twinframe.storage.base import GraphSession, GraphTransaction

_ENTRY: Final = "import"
_ERASED: Final = 1000
_MODELS: Final = 1_000_000


class Unfinished(NamedTuple):
    """How far an import has come: the history that it is of, and the last event of the graph.

    `replays`: the state at the beginning is stored. `is_whole`: the last line was read.
    """

    history: str
    last: int
    progress: Progress
    replays: bool = False
    is_whole: bool = False

    def render(self) -> bytes:
        """Render its entry."""
        return orjson.dumps({**self._asdict(), "progress": self.progress.render()})


def read_unfinished(session: GraphSession) -> Unfinished | None:
    """Return the import with history that is unfinished, if there is one."""
    body = session.read_entry(KIND, _ENTRY)
    if body is None:
        return None
    stored = orjson.loads(body)
    return Unfinished(**{**stored, "progress": load_progress(stored["progress"])})


class PastImport:
    """The import of one history."""

    def __init__(self, context: GraphContext, header: Header, start: int) -> None:
        self._context = context
        self._history = header.history
        self._start = start

    def check(self, session: GraphSession) -> None:
        """Refuse an import that cannot begin, or go on, in the state that `session` sees.

        Errors: `Unsupported`, `ImportFileInvalid`.
        """
        without = "Import it with --no-changes to store the present state alone."
        if not session.keeps_history:
            raise Unsupported(
                "The file has the history of a graph, and the storage of this graph keeps none. "
                + without
            )
        if not self._context.settings.history.enabled:
            raise Unsupported(
                "The file has the history of a graph, and none is kept here: History__Enabled is "
                f"false. {without}"
            )
        self._find(session)

    def _find(self, session: GraphSession) -> Unfinished:
        """Return how far it has come."""
        found = read_unfinished(session)
        last = session.read_event_bounds()[1]
        if found is None:
            is_empty = session.read_moment(0) is None and not (
                session.count_twins() or session.read_models(after=0, limit=1)
            )
            if not is_empty:
                raise ImportFileInvalid(
                    "The file has a history, which only an empty graph can take: this one has a "
                    "history of its own. Import it into a new graph, or with --no-changes."
                )
            if self._start:
                raise ImportFileInvalid(
                    "No import of a history is unfinished here: begin with the first line."
                )
            return Unfinished(self._history, last, BEGIN)
        if found.history != self._history:
            raise ImportFileInvalid(
                "The import of another history is unfinished in this graph. Finish it first, or "
                "import this file into a new graph."
            )
        if found.last != last:
            raise ImportFileInvalid(
                "Another writer has changed the graph while its history was imported, so it cannot "
                "be whole. Import the file into a new graph."
            )
        return found

    def store(
        self,
        transaction: GraphTransaction,
        end: int,
        apply: Callable[[], tuple[Progress, Sequence[Finding]]],
        header: Header | None = None,
        *,
        is_last: bool,
        is_whole: bool,
    ) -> Progress:
        """Store a chunk up to line `end` with `apply`, and how far the import has come.

        `header` is that of the history, for a chunk of changes; `is_last`: it is the last part of
        its chunk, `is_whole`: it has the last line of the changes.
        Errors: `ImportFileInvalid`, also for the first line that cannot be stored.
        """
        found = self._find(transaction)
        if is_last and found.progress.line >= end:
            return found.progress  # NOTE: the answer to that write was lost
        if header is not None and not found.replays:
            found = self._begin_changes(transaction, found, header)
        done, findings = apply()
        if findings:
            first = min(findings, key=lambda finding: finding.line)
            texts = [first.message, *(detail.message for detail in first.details)]
            raise ImportFileInvalid(
                f"{'; '.join(texts)} A history is stored as a whole.", line=first.line
            )
        self._put(transaction, found._replace(progress=done, is_whole=is_whole))
        return done

    def _begin_changes(
        self, transaction: GraphTransaction, found: Unfinished, header: Header
    ) -> Unfinished:
        """Close the state at the beginning: it is the first that can be shown."""
        if header.since is not None:
            recorder = self._context.recorder.go_back(header.since, "")
            context = replace(self._context, recorder=recorder)
            finish_models(context, transaction, header)
            recorder.record_moment(transaction)
            position = transaction.read_event_bounds()[1]
            transaction.put_entry(KIND, START, str(position).encode())
        return found._replace(replays=True)

    def finish(self, transaction: GraphTransaction) -> None:
        """End the import. Errors: `ImportFileInvalid`."""
        if not self._find(transaction).is_whole:
            raise ImportFileInvalid(
                f'The file breaks off: its changes must end with {{"{COUNT}":...}}, their number.'
            )
        transaction.delete_entry(KIND, _ENTRY)

    def erase(self, transaction: GraphTransaction) -> bool:
        """Remove some of what was stored; return whether there may be more."""
        found = read_unfinished(transaction)
        if found is None or found.last != transaction.read_event_bounds()[1]:
            return False  # what others have stored stays
        edges = [*islice(transaction.iterate_relationships(), _ERASED)]
        for edge in edges:
            transaction.delete_relationship(edge.source_id, edge.relationship_id)
        twins = [] if edges else [*islice(transaction.iterate_twins(), _ERASED)]
        for twin in twins:
            transaction.delete_twin(twin.twin_id)
        if edges or twins:
            return True
        models = transaction.read_models(after=0, limit=_MODELS)
        transaction.delete_models([model.model_id for model in models])
        if transaction.delete_events(up_to=found.last, limit=_ERASED):
            return True
        transaction.delete_entry(KIND, START)
        transaction.delete_entry(KIND, _ENTRY)
        return False

    def _put(self, transaction: GraphTransaction, found: Unfinished) -> None:
        last = transaction.read_event_bounds()[1]
        transaction.put_entry(KIND, _ENTRY, found._replace(last=last).render())
