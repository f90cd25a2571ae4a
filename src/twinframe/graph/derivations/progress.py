"""The stored progress of derivations: up to where in the graph's changes their values are true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final

import orjson

from twinframe.graph.documents.derivations import Derivation
from twinframe.settings.derivations import MOST_DERIVATIONS
from twinframe.storage.base import GraphSession, GraphTransaction

_KIND: Final = "derivation-progress"


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of the derivation with this `epoch`.

    All values are those of a state of the graph that has every change up to `position`, read at
    `time`. While all twins are computed, `fill` is the id of the last of them, at first an empty
    text, and `done` of `total` are; afterwards it is None. `computed` and `written` count values,
    `errors` those that could not be computed, of which the last is that of `error_twin`. `halted`
    says why the derivation is not followed; empty: it is.
    """

    epoch: int
    position: int
    time: str = ""
    fill: str | None = ""
    total: int = 0
    done: int = 0
    computed: int = 0
    written: int = 0
    errors: int = 0
    error: str = ""
    error_twin: str = ""
    error_time: str = ""
    halted: str = ""

    def is_behind(self, last: int) -> bool:
        """Return whether there is something to look at, when `last` is the last change."""
        return self.fill is not None or self.position < last


def read_progress(session: GraphSession, derivation: Derivation) -> Progress | None:
    """Return the progress; None if there is none for this definition."""
    body = session.read_entry(_KIND, derivation.id)
    found = None if body is None else Progress(**orjson.loads(body))
    return found if found is not None and found.epoch == derivation.epoch else None


def read_all_progress(session: GraphSession) -> Sequence[Progress]:
    """Return the progress of all derivations."""
    found = session.read_entries(_KIND, after=None, limit=MOST_DERIVATIONS)
    return [Progress(**orjson.loads(listed.item)) for listed in found]


def put_progress(transaction: GraphTransaction, derivation_id: str, progress: Progress) -> None:
    """Store the progress."""
    transaction.put_entry(_KIND, derivation_id, orjson.dumps(asdict(progress)))


def begin_progress(transaction: GraphTransaction, derivation: Derivation) -> None:
    """Let all values be computed, and then follow the changes after those that there are now."""
    _, last = transaction.read_event_bounds()
    put_progress(transaction, derivation.id, Progress(derivation.epoch, last))


def delete_progress(transaction: GraphTransaction, derivation_id: str) -> None:
    """Delete the progress of a deleted derivation."""
    transaction.delete_entry(_KIND, derivation_id)
