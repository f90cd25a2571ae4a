"""Stores answers under Idempotency-Keys, so that a repeated request has one effect.

Only successes are stored: a failed request changed nothing, and may be retried.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from twinframe.control.records.actors import Actor
from twinframe.control.records.documents import KEPT_ANSWERS, KeptAnswer, T, Table
from twinframe.errors import IdempotencyMismatch, InvalidArgument
from twinframe.storage.control import Comparison, Condition, ControlTransaction, Order

_KEY: Final = re.compile(r"[!-~]{1,255}", re.ASCII)
_DAY: Final = 86_400 * 1_000_000_000
_PURGED_AT_ONCE: Final = 16


@dataclass(frozen=True, slots=True)
class RequestKey:
    """An Idempotency-Key, and a digest of the request that had it."""

    key: str
    fingerprint: str


def parse_request_key(key: str, operation: str, body: bytes) -> RequestKey:
    """Parse the key of a request; `operation` is its method and path. Raises `InvalidArgument`."""
    if not _KEY.fullmatch(key):
        raise InvalidArgument("An Idempotency-Key has 1 to 255 visible ASCII characters.")
    digest = hashlib.sha256(f"{operation}\n".encode("utf-8", "surrogatepass") + body)
    return RequestKey(key, digest.hexdigest())


class Idempotency:
    """Runs a request once for each caller and key. `lifetime` is in nanoseconds.

    SEC: keys of one caller mean nothing to another. Permissions are checked before, each time: a
    caller that has lost them gets no stored answer.
    """

    def __init__(self, lifetime: int = _DAY) -> None:
        self._lifetime = lifetime

    def run_once(
        self,
        transaction: ControlTransaction,
        actor: Actor,
        request: RequestKey | None,
        now: int,
        table: Table[T],
        create: Callable[[], T],
    ) -> T:
        """Run `create`, or return its stored result for the same request; without a request just
        run it.

        Raises `IdempotencyMismatch` when the key came with another request.
        """
        if request is None:
            return create()
        record_id = _build_id(actor, request)
        kept = KEPT_ANSWERS.read(transaction, record_id)
        if kept is not None and kept.expires_at > now:
            if kept.fingerprint != request.fingerprint:
                raise IdempotencyMismatch(
                    f"The Idempotency-Key {request.key!r} came with another request before; "
                    "send a new key with a new request."
                )
            return table.parse_body(kept.answer)
        value = create()
        self._purge(transaction, record_id, now)
        body = table.build_record(value).body.decode()
        answer = KeptAnswer(record_id, request.fingerprint, body, now + self._lifetime)
        KEPT_ANSWERS.insert(transaction, answer)
        return value

    def _purge(self, transaction: ControlTransaction, record_id: str, now: int) -> None:
        """Delete expired answers: a few with each new one, so that they never pile up."""
        past = Condition("expires", Comparison.AT_MOST, now)
        expired = KEPT_ANSWERS.find(
            transaction, past, order=Order("expires"), limit=_PURGED_AT_ONCE
        )
        for name in {record_id, *(answer.id for answer in expired)}:
            KEPT_ANSWERS.delete(transaction, name)


def _build_id(actor: Actor, request: RequestKey) -> str:
    # NOTE: a key contains no line break, so that no two pairs have one text.
    return hashlib.sha256(f"{request.key}\n{actor.subject}".encode()).hexdigest()
