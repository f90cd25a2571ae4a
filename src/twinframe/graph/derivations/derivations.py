"""The use cases of derivations: put, read, list and delete. `keeper` keeps their values true."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from twinframe.errors import (
    DerivationInvalid,
    DerivationNotFound,
    InvalidArgument,
    LimitExceeded,
    QueryInvalid,
)
from twinframe.errors.nearest import render_hint
from twinframe.graph.context.context import GraphContext
from twinframe.graph.derivations.computing import Computing
from twinframe.graph.derivations.order import Models, order
from twinframe.graph.derivations.progress import (
    Progress,
    begin_progress,
    delete_progress,
    read_progress,
)
from twinframe.graph.derivations.reading import understand, understand_all
from twinframe.graph.derivations.texts import build_text
from twinframe.graph.documents.derivations import (
    Derivation,
    build_epoch,
    delete_derivation,
    put_derivation,
    read_derivation,
    read_derivations,
)
from twinframe.graph.queries.plans import build_options
from twinframe.model.etags import NO_ETAG, UNCONDITIONED, Condition
from twinframe.model.ids import parse_entry_id
from twinframe.model.pages import FIRST_PAGE, Page, PageRequest
from twinframe.model.values import JsonValue
from twinframe.settings.derivations import LONGEST_SETTLE
from twinframe.storage.base import GraphSession, GraphTransaction

_TEXTS: Final = ("model", "property", "match", "value")
_OPTIONAL: Final = "match"
_MEMBERS: Final = ("id", *_TEXTS, "settleSeconds")


@dataclass(frozen=True, slots=True)
class DerivationState:
    """A derivation, its progress, and the position of the last change of the graph."""

    derivation: Derivation
    progress: Progress
    last: int

    @property
    def name(self) -> str:
        """In a word: `halted`, `computing`, `behind` or `current`."""
        if self.progress.halted:
            return "halted"
        if self.progress.fill is not None:
            return "computing"
        return "behind" if self.progress.position < self.last else "current"

    @property
    def behind(self) -> int:
        """How many changes its values may not have yet; positions may have gaps."""
        return max(self.last - self.progress.position, 0)

    @property
    def query(self) -> str:
        """The query of its values, for the twins `$ids`."""
        return build_text(self.derivation)


class Derivations:
    """Reading and changing the derivations of a graph."""

    def __init__(self, context: GraphContext, computing: Computing) -> None:
        self._context = context
        self._computing = computing
        self._options = build_options(context.settings.query)

    async def put(
        self, derivation_id: str, document: JsonValue, condition: Condition = UNCONDITIONED
    ) -> DerivationState:
        """Create or replace a derivation; all its values are computed in the background.

        One that has the same definition goes on as before. Errors: `InvalidArgument`,
        `DerivationInvalid`, `LimitExceeded`, `PreconditionFailed`.
        """
        derivation = self._parse(parse_entry_id("derivation", derivation_id), document)
        timeout = self._context.settings.query.timeout
        while True:
            version = await self._context.runner.scan(
                lambda session: self._check(session, derivation), timeout
            )
            state = await self._context.write(
                lambda found, version=version: self._apply(found, derivation, condition, version)  # type: ignore[misc]  # the default binds
            )
            if state is not None:
                self._context.signal.set()
                return state

    async def read(self, derivation_id: str) -> DerivationState:
        """The derivation and its progress; `DerivationNotFound`."""

        def read(session: GraphSession) -> DerivationState:
            derivation = _require(session, derivation_id)
            return _read_state(session, derivation)

        return await self._context.runner.read(read)

    async def list_all(self, page: PageRequest = FIRST_PAGE) -> Page[DerivationState]:
        """Derivations by id; `InvalidContinuationToken`."""
        listing = await self._context.open_listing("derivations")
        after, size = listing.start(page)
        key = None if after is None else str(after)

        def read(session: GraphSession) -> Sequence[tuple[str, DerivationState]]:
            def fetch(after: str | None, limit: int) -> Sequence[tuple[str, DerivationState]]:
                found = read_derivations(session, after=after, limit=limit)
                return [(each.id, _read_state(session, each)) for each in found]

            return listing.gather(fetch, key, size, _measure)

        found = await self._context.runner.read(read)
        return listing.page(found, size, _measure)

    async def delete(self, derivation_id: str) -> None:
        """Delete a derivation; the values stay, as values of any writer. `DerivationNotFound`."""

        def apply(transaction: GraphTransaction) -> None:
            delete_derivation(transaction, _require(transaction, derivation_id))
            delete_progress(transaction, derivation_id)

        await self._context.write(apply)
        self._context.signal.set()

    # --- what a caller sends --------------------------------------------------------------------

    def _parse(self, derivation_id: str, document: JsonValue) -> Derivation:
        if not isinstance(document, dict):
            raise InvalidArgument(
                "A derivation is a JSON object with the strings model, property and value, and "
                "match where it reads more than the twin itself."
            )
        for name in document:
            if name not in _MEMBERS:
                hint = render_hint(name, _MEMBERS, "Its members:")
                raise InvalidArgument(f"A derivation has no member {name[:100]!a}. {hint}")
        if document.get("id", derivation_id) != derivation_id:
            raise InvalidArgument("id must be that of the path, or left out.")
        model, name, match, value = (self._parse_text(document, each) for each in _TEXTS)
        return Derivation(derivation_id, model, name, match, value, _parse_settle(document))

    def _parse_text(self, document: dict[str, JsonValue], name: str) -> str:
        text = document.get(name, "" if name == _OPTIONAL else None)
        if not isinstance(text, str) or not (text.strip() or name == _OPTIONAL):
            raise InvalidArgument(f"{name} is needed, and must be a string that is not empty.")
        most = self._context.settings.derivations.max_text_bytes
        if len(text.encode("utf-8", "replace")) > most:
            raise LimitExceeded(f"{name} has more than {most} bytes (Derivations__MaxTextBytes).")
        return text.strip()

    # --- what is stored -------------------------------------------------------------------------

    def _check(self, session: GraphSession, derivation: Derivation) -> int:
        """Check a definition; return the number of the state of the models, and of the other
        definitions, in which it is right.
        """
        version = session.read_schema_version()
        view, models = self._context.models.open(session), Models(session)
        understood = understand(session, derivation, view, models, self._options)
        try:
            wrong = self._computing.check_names(session, build_text(derivation))
        except QueryInvalid as error:
            raise DerivationInvalid(error.message) from error
        if wrong is not None:
            raise DerivationInvalid(wrong)
        stored = [one for one in read_derivations(session) if one.id != derivation.id]
        others, _ = understand_all(session, stored, view, models, self._options)
        halted = order([*others, understood]).halted
        if derivation.id in halted:
            raise DerivationInvalid(halted[derivation.id])
        return version

    def _apply(
        self,
        transaction: GraphTransaction,
        derivation: Derivation,
        condition: Condition,
        version: int,
    ) -> DerivationState | None:
        """Store a definition; None where it must be checked again."""
        before = read_derivation(transaction, derivation.id)
        condition.check(
            None if before is None else NO_ETAG, f"a derivation with the id {derivation.id}"
        )
        if transaction.read_schema_version() != version:
            return None
        most = self._context.settings.derivations.max_derivations
        if before is None and len(read_derivations(transaction, limit=most)) >= most:
            raise LimitExceeded(
                f"There are {most} derivations, which is as many as may be "
                "(Derivations__MaxDerivations). Delete one first."
            )
        if before is not None and before.definition == derivation.definition:
            derivation = replace(derivation, epoch=before.epoch)
            if derivation != before:
                put_derivation(transaction, derivation)
        else:
            if before is not None:
                delete_derivation(transaction, before)
            derivation = replace(derivation, epoch=build_epoch())
            put_derivation(transaction, derivation)
            begin_progress(transaction, derivation)
        return _read_state(transaction, derivation)


def _parse_settle(document: dict[str, JsonValue]) -> float | None:
    value = document.get("settleSeconds")
    if value is None:
        return None
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or not math.isfinite(value)
        or not 0 <= value <= LONGEST_SETTLE
    ):
        raise InvalidArgument(
            f"settleSeconds must be a number of seconds from 0 to {LONGEST_SETTLE:g}; without it, "
            "the setting Derivations__SettleSeconds counts."
        )
    return float(value)


def _require(session: GraphSession, derivation_id: str) -> Derivation:
    derivation = read_derivation(session, derivation_id)
    if derivation is None:
        raise DerivationNotFound(derivation_id)
    return derivation


def _read_state(session: GraphSession, derivation: Derivation) -> DerivationState:
    _, last = session.read_event_bounds()
    progress = read_progress(session, derivation) or Progress(derivation.epoch, last)
    return DerivationState(derivation, progress, last)


def _measure(state: DerivationState) -> int:
    return len(state.derivation.match) + len(state.derivation.value)
