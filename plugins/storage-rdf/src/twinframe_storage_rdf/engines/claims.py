"""A writer lock for a SPARQL server that does not isolate overlapping updates.

It relies only on what every server offers: an INSERT DATA or DELETE DATA of one triple happens or
not, and a query shows one state, with all that was answered before. `docs/decisions/
0028-writers-of-a-sparql-server-take-a-claim.md` says why this is enough, and what is assumed.
"""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Final

from twinframe.errors import StorageBusy, StorageError
from twinframe.runtime.backoff import Backoff
from twinframe_storage_rdf import vocabulary as v
from twinframe_storage_rdf.mapping import Triple
from twinframe_storage_rdf.terms import Iri, Row, render_iri
from twinframe_storage_rdf.updates import render_data

_PAUSES: Final = Backoff(0.003, 0.15, growth=1.5, spread=2 / 3)


class Claims:
    """The claims on one graph's writer lock, as this process knows them. One thread at a time.

    A claim is a triple of the state graph. A writer that sees no claim but its own, in a query
    begun after its own was there, holds the lock: of two that come together, the later one sees the
    earlier. Updates are made only while their claim is there, so removing a claim ends its hold.

    A claim that this process has seen for `lease` seconds is *revoked*: replaced in one step by one
    that no writer can use. An update of the revoked claim that had begun may still be running, so
    no writer gets the lock before the revocation has been seen for `revocation` seconds: more than
    any update takes, or 0 where the server lets the revocation wait for an update that read the
    claim. Times are of this process's own clock, in seconds.
    """

    def __init__(
        self,
        state: Iri,
        select: Callable[[str], Iterator[Row]],
        write: Callable[[str], None],
        *,
        lease: float,
        revocation: float,
    ) -> None:
        self._state = state
        self._select = select
        self._write = write
        self._lease = lease
        self._revocation = revocation
        self._seen: dict[tuple[Iri, str], float] = {}

    def take(self, deadline: float) -> Triple:
        """Acquire the lock and return its claim. Raises `StorageBusy` after the deadline."""
        rank = f"{time.time_ns():020d}"  # NOTE: longest waiter first; no clock is trusted
        looks = 0
        claim: str | None = self._insert(rank)
        try:
            while True:
                live, revoked = self._read()
                others = live - {claim}
                claim = (
                    claim if claim in live else None
                )  # another process may have marked it as dead
                if not others and not revoked:
                    if claim is not None:
                        return self._build(v.CLAIM, claim)
                    claim = self._insert(rank)
                    continue
                if claim is not None and min(others, default=claim) < claim:
                    self.release(self._build(v.CLAIM, claim))
                    claim = None
                if time.monotonic() >= deadline:
                    raise StorageBusy(
                        "The turn to write did not come in time; nothing was changed."
                    )
                looks += 1
                time.sleep(_PAUSES.build_pause(looks))
        except StorageError:
            if claim is not None:
                with contextlib.suppress(StorageError):
                    self.release(self._build(v.CLAIM, claim))
            raise

    def release(self, claim: Triple) -> None:
        """Release the lock: no update of this claim is running or on its way."""
        self._write(render_data("DELETE", [(self._state, [claim])]))

    def revoke(self, claim: Triple) -> None:
        """Give up a claim of which an update may still be running, or on its way."""
        subject, _, name = claim
        revoked: Triple = (subject, v.REVOKED, name)
        self._write(
            f"{render_data('INSERT', [(self._state, [revoked])])} ;\n"
            f"{render_data('DELETE', [(self._state, [claim])])}"
        )

    def _insert(self, rank: str) -> str:
        claim = f"{rank}-{uuid.uuid4().hex}"
        triple = self._build(v.CLAIM, claim)
        try:
            self._write(render_data("INSERT", [(self._state, [triple])]))
        except StorageError:
            with contextlib.suppress(StorageError):  # the server may have inserted it all the same
                self.release(triple)
            raise
        return claim

    def _build(self, predicate: Iri, claim: str) -> Triple:
        return (Iri(f"{self._state}:claims"), predicate, claim)

    def _read(self) -> tuple[set[str], set[str]]:
        """Return the live and the revoked claims; expired ones are revoked or removed."""
        subject = render_iri(f"{self._state}:claims")
        rows = self._select(
            f"SELECT ?p ?o WHERE {{ GRAPH {render_iri(self._state)} {{ {subject} ?p ?o }} }}"
        )
        found = [(Iri(str(predicate)), str(name)) for predicate, name in rows]
        now = time.monotonic()
        self._seen = {key: self._seen.get(key, now) for key in found}
        for (predicate, name), since in self._seen.items():
            if predicate == v.CLAIM and now - since >= self._lease:
                self.revoke(self._build(v.CLAIM, name))
            elif predicate == v.REVOKED and now - since >= self._revocation:
                self.release(self._build(v.REVOKED, name))
        live = {name for predicate, name in found if predicate == v.CLAIM}
        return live, {name for predicate, name in found if predicate == v.REVOKED}
