"""What is stored about each target between looks: how often it was asked for and used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from typing import Final

import orjson

from twinframe.storage.base import GraphSession, GraphTransaction
from twinframe_storage_sqlite.indexing.targets import Target

KIND: Final = "index"
_DAY: Final = 86_400.0
_MOST: Final = 1000


@dataclass(slots=True)
class Tally:
    """Runs that asked for an index in vain, runs that used it, and the steps that it would save.

    `steps` halve each day. `at` and `made` are seconds since 1970: of the last such run, and of the
    making of the index, which took `seconds`. `uses` are what the runs did with it.
    """

    asked: int = 0
    used: int = 0
    steps: float = 0.0
    at: float = 0.0
    made: float = 0.0
    seconds: float = 0.0
    uses: list[str] = field(default_factory=list)
    hindrance: str = ""

    def add(self, other: Tally) -> Tally:
        """Return the sum of what is stored and a later one."""
        faded = self.steps * 0.5 ** (max(other.at - self.at, 0.0) / _DAY)
        return Tally(
            self.asked + other.asked,
            self.used + other.used,
            faded + other.steps,
            max(self.at, other.at),
            other.made or self.made,
            other.seconds or self.seconds,
            sorted({*self.uses, *other.uses}),
            other.hindrance,
        )


_FIELDS: Final = frozenset(each.name for each in fields(Tally))


def read_tallies(session: GraphSession) -> Iterator[tuple[Target, Tally]]:
    """Read all that is stored."""
    for listed in session.read_entries(KIND, after=None, limit=_MOST):
        table, _, name = listed.key.partition("/")
        stored = orjson.loads(listed.item)
        yield Target(table, name), Tally(**{k: v for k, v in stored.items() if k in _FIELDS})


def write_tally(transaction: GraphTransaction, target: Target, tally: Tally) -> None:
    """Store what is known about a target."""
    transaction.put_entry(KIND, target.key, orjson.dumps(asdict(tally)))


def delete_tally(transaction: GraphTransaction, target: Target) -> None:
    """Forget a target."""
    transaction.delete_entry(KIND, target.key)
