"""The epoch of a graph, which changes when a restore makes event positions recur.

After a restore, positions are given to other events. A client that keeps a position keeps the epoch
with it, and so sees whether the position is still valid.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from typing import Final

import orjson

from twinframe.storage.base import GraphSession, GraphTransaction

_KIND: Final = "event-epoch"
_KEY: Final = "present"
_BYTES: Final = 4


@dataclass(frozen=True, slots=True)
class Epoch:
    """`id` is a short text of hexadecimal digits. `is_first`: the graph was never restored."""

    id: str
    is_first: bool


def read_epoch(session: GraphSession) -> Epoch:
    """Return the present epoch.

    The first one of a graph is named after its identity, and never stored.
    """
    body = session.read_entry(_KIND, _KEY)
    if body is not None:
        return Epoch(orjson.loads(body), is_first=False)
    identity = session.read_instance().id.encode()
    return Epoch(hashlib.blake2b(identity, digest_size=_BYTES).hexdigest(), is_first=True)


def renew_epoch(transaction: GraphTransaction) -> None:
    """Begin another epoch. A restore does so in the copy that replaces the graph."""
    transaction.put_entry(_KIND, _KEY, orjson.dumps(secrets.token_hex(_BYTES)))
