"""Reads derivations with what they depend on, in one state of the graph."""

from __future__ import annotations

from collections.abc import Iterable

from twinframe.errors import DerivationInvalid
from twinframe.graph.context.model_cache import ModelView
from twinframe.graph.derivations.checking import check_members, check_model, check_type
from twinframe.graph.derivations.footprint import find_footprint
from twinframe.graph.derivations.order import Models, Order, Understood, order
from twinframe.graph.derivations.texts import parse_derivation
from twinframe.graph.documents.derivations import Derivation
from twinframe.query.options import FrontEndOptions
from twinframe.storage.base import GraphSession


def read_order(
    session: GraphSession,
    derivations: Iterable[Derivation],
    view: ModelView,
    options: FrontEndOptions,
) -> Order:
    """Return the order in which the derivations settle, under the models that are stored."""
    found, halted = understand_all(session, derivations, view, Models(session), options)
    ordered = order(found)
    return Order(ordered.settling, {**halted, **ordered.halted})


def understand_all(
    session: GraphSession,
    derivations: Iterable[Derivation],
    view: ModelView,
    models: Models,
    options: FrontEndOptions,
) -> tuple[list[Understood], dict[str, str]]:
    """Return what the derivations depend on, and what is wrong with those that are wrong by now."""
    found: list[Understood] = []
    halted: dict[str, str] = {}
    for derivation in derivations:
        if session.read_model(derivation.model) is None:
            halted[derivation.id] = f"The model {derivation.model} is not stored."
            continue
        try:
            found.append(understand(session, derivation, view, models, options))
        except DerivationInvalid as error:  # the models or settings are others now
            halted[derivation.id] = error.message
    return found, halted


def understand(
    session: GraphSession,
    derivation: Derivation,
    view: ModelView,
    models: Models,
    options: FrontEndOptions,
) -> Understood:
    """Find what a derivation depends on; check it against its model. Raises `DerivationInvalid`."""
    model = check_model(session, view, derivation)
    query = parse_derivation(derivation, options)
    footprint = find_footprint(query)
    check_members(footprint, model)
    check_type(query, model, derivation)
    own = models.read_descendants(derivation.model)
    return Understood(derivation, footprint, own, tuple(map(models.find, footprint.nodes)), query)
