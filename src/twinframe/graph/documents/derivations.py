"""The stored form of derivations: definitions of properties that the service computes itself."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

import orjson

from twinframe.settings.derivations import MOST_DERIVATIONS
from twinframe.storage.base import GraphSession, GraphTransaction

DERIVATION: Final = "derivation"
_EPOCHS: Final = 2**40


@dataclass(frozen=True, slots=True)
class Derivation:
    """Defines a property of all twins of `model`, and of the models that extend it.

    `match` is a Cypher pattern that begins at the node `this`, empty for none; `value` an
    expression over it. `settle_seconds` None is that of the settings. `epoch` is new for each
    definition, also for one under an old id.
    """

    id: str
    model: str
    property_name: str
    match: str
    value: str
    settle_seconds: float | None = None
    epoch: int = 0

    @property
    def definition(self) -> tuple[str, str, str, str]:
        """What the values depend on."""
        return self.model, self.property_name, self.match, self.value


def read_derivation(session: GraphSession, derivation_id: str) -> Derivation | None:
    """The derivation, or None."""
    body = session.read_entry(DERIVATION, derivation_id)
    return None if body is None else _parse(derivation_id, body)


def read_derivations(
    session: GraphSession, *, after: str | None = None, limit: int = MOST_DERIVATIONS
) -> Sequence[Derivation]:
    """Derivations by id."""
    found = session.read_entries(DERIVATION, after=after, limit=limit)
    return [_parse(listed.key, listed.item) for listed in found]


def put_derivation(transaction: GraphTransaction, derivation: Derivation) -> None:
    """Create or replace a derivation. The model must be stored."""
    body = asdict(derivation)
    del body["id"]
    transaction.put_entry(DERIVATION, derivation.id, orjson.dumps(body))
    _count_change(transaction, derivation.model)


def delete_derivation(transaction: GraphTransaction, derivation: Derivation) -> None:
    """Delete a stored derivation."""
    transaction.delete_entry(DERIVATION, derivation.id)
    _count_change(transaction, derivation.model)


def build_epoch() -> int:
    """Build an epoch that no other definition has."""
    return secrets.randbelow(_EPOCHS)


def find_derived(derivations: Sequence[Derivation], model_ids: Sequence[str]) -> Mapping[str, str]:
    """Return property -> id of its derivation, for a twin whose model and bases these are."""
    wanted = frozenset(model_ids)
    found: dict[str, str] = {}
    for one in derivations:
        if one.model in wanted:
            found.setdefault(one.property_name, one.id)
    return found


def _count_change(transaction: GraphTransaction, model_id: str) -> None:
    """Let all workers load the models again, with the properties that are derived now.

    PERF: the number of the models' state is read with each write anyway; a number of its own would
    cost each write another read.
    """
    record = transaction.read_model(model_id)
    if record is not None:
        transaction.set_decommissioned(model_id, record.decommissioned)


def _parse(derivation_id: str, body: bytes) -> Derivation:
    return Derivation(derivation_id, **orjson.loads(body))
