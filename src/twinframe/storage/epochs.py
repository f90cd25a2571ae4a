"""The epoch of a graph's events: what their positions are counted in. It counts nothing itself.

A restore takes positions back, and they are given to other events then. Who keeps a position keeps
the epoch beside it, and sees whether it still means what it meant.
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
    """The present epoch. The first one of a graph is named after its identity, and never stored."""
    body = session.read_entry(_KIND, _KEY)
    if body is not None:
        return Epoch(orjson.loads(body), is_first=False)
    identity = session.read_instance().id.encode()
    return Epoch(hashlib.blake2b(identity, digest_size=_BYTES).hexdigest(), is_first=True)


def renew_epoch(transaction: GraphTransaction) -> None:
    """Begin another epoch. Whoever puts a backup in the place of a graph does so in its copy."""
    transaction.put_entry(_KIND, _KEY, orjson.dumps(secrets.token_hex(_BYTES)))
