"""The stored records of event routes: routes, their progress, failing events and dead letters.

Each is an entry. A route and its progress are separate, as callers write the former and deliveries
the latter. `epoch` of the progress changes whenever a caller sets it, so that a running delivery
notices.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Final, Protocol

import orjson

from twinframe.graph.events.event import Event
from twinframe.storage.base import GraphSession, GraphTransaction

ROUTE: Final = "event-route"
PROGRESS: Final = "event-progress"
_DEAD: Final = "event-dead/"
_AGAIN: Final = "event-again/"
_FAILING: Final = "event-failing"
_SEEN: Final = "event-seen"
_BATCH: Final = "event-batch"
_EPOCHS: Final = 2**40


@dataclass(frozen=True, slots=True)
class Route:
    """Sends the events that pass `filter` to the endpoint of this name."""

    id: str
    endpoint_name: str
    filter: str


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a route: every event up to `position` is delivered, given up or filtered out.

    `delivered`, `dead` and `lost` count events; lost are those that were deleted before they
    were sent. `letters` is how many dead letters are kept. `error` is the last error at the
    endpoint, empty when there is none now. A route is `halted` when its endpoint is gone.
    """

    epoch: int
    position: int
    delivered: int = 0
    dead: int = 0
    lost: int = 0
    error: str = ""
    letters: int = 0
    halted: bool = False


@dataclass(frozen=True, slots=True)
class Seen:
    """The events that a route has done beyond its position, while an event keeps it there:
    everything up to `position`, except events of one of these `keys` from its position on.
    """

    position: int = 0
    keys: Mapping[str, int] = field(default_factory=dict)

    def covers(self, event: Event) -> bool:
        """Return whether the route has done an event."""
        if event.position > self.position:
            return False
        first = self.keys.get(event.key)
        return first is None or event.position < first


@dataclass(frozen=True, slots=True)
class TableBatch:
    """What is being stored as rows of tables: the events up to `position`, and those of these dead
    letters, under a name. After a crash the same are stored under the same name again.
    """

    name: str
    position: int
    letters: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """An event that a route gave up, and why. `text` is its text in the outbox."""

    position: int
    key: str
    text: str
    error: str
    attempts: int
    time: str

    @property
    def event(self) -> Event:
        """The event itself."""
        return Event(self.position, self.key, self.text.encode())


class RouteState(Protocol):
    """What a delivery has read of its route."""

    @property
    def route(self) -> Route:
        """The route."""

    @property
    def progress(self) -> Progress:
        """Its progress."""


def is_same_delivery(known: RouteState, stored: RouteState | None) -> bool:
    """Return whether no caller has changed, replaced or deleted the route since it was read."""
    return (
        stored is not None
        and stored.route == known.route
        and stored.progress.epoch == known.progress.epoch
    )


# --- routes -----------------------------------------------------------------------------------


def read_route(session: GraphSession, route_id: str) -> Route | None:
    """The route, or None."""
    body = session.read_entry(ROUTE, route_id)
    return None if body is None else _parse_route(route_id, body)


def read_routes(session: GraphSession, *, after: str | None, limit: int) -> Sequence[Route]:
    """Routes by id."""
    found = session.read_entries(ROUTE, after=after, limit=limit)
    return [_parse_route(listed.key, listed.item) for listed in found]


def put_route(transaction: GraphTransaction, route: Route) -> None:
    """Create or replace a route; a new one begins now, a halted one where it was."""
    if read_route(transaction, route.id) != route:
        transaction.delete_entry(_FAILING, route.id)
        transaction.delete_entry(_SEEN, route.id)
    document = {"endpointName": route.endpoint_name, "filter": route.filter}
    transaction.put_entry(ROUTE, route.id, orjson.dumps(document))
    progress = read_progress(transaction, route.id)
    if progress is None:
        # NOTE: random, so that it differs from that of a former route of the id.
        epoch = secrets.randbelow(_EPOCHS)
        put_progress(transaction, route.id, Progress(epoch, transaction.read_event_bounds()[1]))
    elif progress.halted:
        go_on(transaction, route.id)


def delete_route(transaction: GraphTransaction, route_id: str) -> bool:
    """Delete a route with all its records; return False when there is none."""
    if not transaction.delete_entry(ROUTE, route_id):
        return False
    transaction.delete_entry(PROGRESS, route_id)
    transaction.delete_entry(_FAILING, route_id)
    transaction.delete_entry(_SEEN, route_id)
    transaction.delete_entry(_BATCH, route_id)
    for kind in (_DEAD + route_id, _AGAIN + route_id):
        while found := transaction.read_entries(kind, after=None, limit=1000):
            for listed in found:
                transaction.delete_entry(kind, listed.key)
    return True


def _parse_route(route_id: str, body: bytes) -> Route:
    document = orjson.loads(body)
    return Route(route_id, document["endpointName"], document["filter"])


# --- progress -----------------------------------------------------------------------------------


def read_progress(session: GraphSession, route_id: str) -> Progress | None:
    """Return the progress of the route; None when there is no such route."""
    body = session.read_entry(PROGRESS, route_id)
    return None if body is None else Progress(**orjson.loads(body))


def read_progresses(session: GraphSession, *, limit: int) -> Sequence[tuple[str, Progress]]:
    """Return the progress of all routes, by id."""
    found = session.read_entries(PROGRESS, after=None, limit=limit)
    return [(listed.key, Progress(**orjson.loads(listed.item))) for listed in found]


def put_progress(transaction: GraphTransaction, route_id: str, progress: Progress) -> None:
    """Store the progress."""
    transaction.put_entry(PROGRESS, route_id, orjson.dumps(asdict(progress)))


def go_on(transaction: GraphTransaction, route_id: str) -> None:
    """Let a route that was halted continue with its remaining events; its retries start again."""
    progress = read_progress(transaction, route_id)
    if progress is not None:
        error = "" if progress.halted else progress.error
        present = replace(progress, epoch=progress.epoch + 1, halted=False, error=error)
        put_progress(transaction, route_id, present)
        transaction.delete_entry(_FAILING, route_id)


def restart(transaction: GraphTransaction, route_id: str, position: int) -> None:
    """Let the route begin again after a position, also when it was halted."""
    go_on(transaction, route_id)
    progress = read_progress(transaction, route_id)
    if progress is not None:
        put_progress(transaction, route_id, replace(progress, position=position))
        transaction.delete_entry(_SEEN, route_id)
        transaction.delete_entry(_BATCH, route_id)


# --- what fails ---------------------------------------------------------------------------------


def read_failing(session: GraphSession, route_id: str) -> dict[int, int]:
    """Return when each long-failing event failed first, by position, in nanoseconds."""
    body = session.read_entry(_FAILING, route_id)
    return {} if body is None else dict(orjson.loads(body))


def put_failing(transaction: GraphTransaction, route_id: str, failing: Mapping[int, int]) -> None:
    """Store the failing events."""
    if failing:
        transaction.put_entry(_FAILING, route_id, orjson.dumps(list(failing.items())))
    else:
        transaction.delete_entry(_FAILING, route_id)


def read_seen(session: GraphSession, route_id: str) -> Seen:
    """Return the events that the route has done beyond its position."""
    body = session.read_entry(_SEEN, route_id)
    return Seen() if body is None else Seen(**orjson.loads(body))


def put_seen(transaction: GraphTransaction, route_id: str, seen: Seen) -> None:
    """Store the events done beyond the position."""
    if seen.position:
        transaction.put_entry(_SEEN, route_id, orjson.dumps(asdict(seen)))
    else:
        transaction.delete_entry(_SEEN, route_id)


def read_table_batch(session: GraphSession, route_id: str) -> TableBatch | None:
    """Return what is being stored, if a crash may have interrupted it."""
    body = session.read_entry(_BATCH, route_id)
    return None if body is None else TableBatch(**orjson.loads(body))


def put_table_batch(transaction: GraphTransaction, route_id: str, batch: TableBatch | None) -> None:
    """Store what is about to be stored, or that it is."""
    if batch is None:
        transaction.delete_entry(_BATCH, route_id)
    else:
        transaction.put_entry(_BATCH, route_id, orjson.dumps(asdict(batch)))


# --- dead letters -------------------------------------------------------------------------------


def read_dead_letters(
    session: GraphSession, route_id: str, *, after: str | None, limit: int
) -> Sequence[DeadLetter]:
    """Dead letters of a route, by position."""
    return _read_letters(session, _DEAD + route_id, after, limit)


def read_letters_again(session: GraphSession, route_id: str, limit: int) -> Sequence[DeadLetter]:
    """Return dead letters that are to be sent again, by position."""
    return _read_letters(session, _AGAIN + route_id, None, limit)


def put_dead_letter(
    transaction: GraphTransaction, route_id: str, letter: DeadLetter, most: int
) -> None:
    """Store a dead letter; beyond `most`, delete the oldest."""
    kind, key = _DEAD + route_id, render_position(letter.position)
    progress = read_progress(transaction, route_id)
    if progress is None:
        return
    kept = progress.letters + (transaction.read_entry(kind, key) is None)
    transaction.put_entry(kind, key, orjson.dumps(asdict(letter)))
    transaction.delete_entry(_AGAIN + route_id, key)
    if kept > most:
        kept -= _delete_oldest(transaction, kind, kept - most)
    put_progress(transaction, route_id, replace(progress, dead=progress.dead + 1, letters=kept))


def _delete_oldest(transaction: GraphTransaction, kind: str, count: int) -> int:
    """Delete the first entries of a kind; return their number."""
    found = transaction.read_entries(kind, after=None, limit=count)
    for listed in found:
        transaction.delete_entry(kind, listed.key)
    return len(found)


def delete_letter_again(transaction: GraphTransaction, route_id: str, position: int) -> None:
    """Delete one that was sent again."""
    transaction.delete_entry(_AGAIN + route_id, render_position(position))


def move_dead_letters(transaction: GraphTransaction, route_id: str, limit: int) -> int:
    """Queue the oldest dead letters again, also of a halted route; return their number."""
    found = transaction.read_entries(_DEAD + route_id, after=None, limit=limit)
    for listed in found:
        transaction.delete_entry(_DEAD + route_id, listed.key)
        transaction.put_entry(_AGAIN + route_id, listed.key, listed.item)
    _count_letters(transaction, route_id, -len(found))
    progress = read_progress(transaction, route_id)
    if found and progress is not None and progress.halted:
        go_on(transaction, route_id)
    return len(found)


def delete_dead_letters(transaction: GraphTransaction, route_id: str, limit: int) -> int:
    """Delete the oldest dead letters; return their number."""
    count = _delete_oldest(transaction, _DEAD + route_id, limit)
    _count_letters(transaction, route_id, -count)
    return count


def _count_letters(transaction: GraphTransaction, route_id: str, more: int) -> None:
    progress = read_progress(transaction, route_id)
    if progress is not None:
        changed = replace(progress, letters=max(progress.letters + more, 0))
        put_progress(transaction, route_id, changed)


def render_position(position: int) -> str:
    """The key of a dead letter: positions in the order of code points."""
    return f"{position:020d}"


def _read_letters(
    session: GraphSession, kind: str, after: str | None, limit: int
) -> Sequence[DeadLetter]:
    found = session.read_entries(kind, after=after, limit=limit)
    return [DeadLetter(**orjson.loads(listed.item)) for listed in found]
