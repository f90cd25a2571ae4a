"""Spans: the time in which a resource is paid for, with its skus.

A span begins when its resource first runs and ends when its deletion is requested; a change of the
sku counts from its request, as its quotas do. A closed month never changes: a change that comes too
late for it counts from the first open second.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from twinframe.control.billing.closing import find_first_open
from twinframe.control.billing.months import Interval
from twinframe.control.records.documents import Table
from twinframe.control.records.states import ResourceState
from twinframe.control.resources.documents import Resource
from twinframe.hooks.resource_types.hosting import ResourceName
from twinframe.hooks.resource_types.prices import Sku
from twinframe.storage.control import (
    Comparison,
    Condition,
    ControlSession,
    ControlTransaction,
    equal,
)

OPEN: Final = 2**63 - 1
"""`ended` of a span that has not ended; it is above every clock."""


@dataclass(frozen=True, slots=True)
class Step:
    """The resource has this sku from this second on."""

    at: int
    sku: Sku


@dataclass(frozen=True, slots=True)
class Span:
    """One incarnation of a resource while it is paid for. Times are seconds since the epoch."""

    id: str
    resource_id: str
    incarnation: str
    organization_id: str
    project_id: str
    type: str
    steps: tuple[Step, ...]
    ended: int = OPEN

    @property
    def interval(self) -> Interval:
        """The interval from its beginning to its end."""
        return Interval(self.steps[0].at, self.ended)

    def list_skus(self) -> list[tuple[Sku, Interval]]:
        """List its skus with their intervals, in order of time; a sku may come several times."""
        ends = (*(step.at for step in self.steps[1:]), self.ended)
        found = zip(self.steps, ends, strict=True)
        return [(step.sku, Interval(step.at, end)) for step, end in found if step.at < end]


SPANS: Final = Table(
    "billing_span",
    Span,
    {
        "organization": lambda value: value.organization_id,
        "project": lambda value: value.project_id,
        "resource": lambda value: value.resource_id,
        "began": lambda value: value.interval.begin,
        "ended": lambda value: value.ended,
    },
    indexes=(("organization", "ended"), ("project", "ended"), ("ended", "id")),
)


def build_span_id(name: ResourceName) -> str:
    """Build the id of the span of an incarnation. NOTE: a resource's id contains no dot."""
    return f"{name.resource_id}.{name.incarnation}"


def follow_resource(transaction: ControlTransaction, resource: Resource, now: int) -> None:
    """Record the effect of a resource's change on its bill.

    Call it after each change of a resource, in the same transaction; repeating it changes nothing.
    `now` is in seconds.
    """
    stored = SPANS.read(transaction, build_span_id(resource.resource_name))
    at = max(now, find_first_open(transaction))
    if stored is None:
        if resource.status is ResourceState.RUNNING:
            SPANS.insert(transaction, _build_span(resource, at))
    elif stored.ended == OPEN:
        changed = _build_changed(stored, resource, max(at, stored.steps[-1].at))
        if changed != stored:
            SPANS.replace(transaction, changed)


def _build_span(resource: Resource, at: int) -> Span:
    return Span(
        build_span_id(resource.resource_name),
        resource.id,
        resource.incarnation,
        resource.organization_id,
        resource.project_id,
        resource.type,
        (Step(at, resource.sku),),
    )


def _build_changed(span: Span, resource: Resource, at: int) -> Span:
    if resource.status in (ResourceState.DELETING, ResourceState.TERMINATED):
        return replace(span, ended=at)
    if resource.sku is span.steps[-1].sku:
        return span
    return replace(span, steps=(*span.steps, Step(at, resource.sku)))


def find_spans(session: ControlSession, key: str, value: str, within: Interval) -> tuple[Span, ...]:
    """Return the spans of an organization or project (`key`) that overlap `within`, by id."""
    return SPANS.find(
        session,
        equal(key, value),
        Condition("ended", Comparison.ABOVE, within.begin),
        Condition("began", Comparison.BELOW, within.end),
    )


def list_open(session: ControlSession, after: str, limit: int) -> tuple[Span, ...]:
    """List the next spans that have not ended, by id, after the id `after`."""
    following = Condition("id", Comparison.ABOVE, after)
    return SPANS.find(session, equal("ended", OPEN), following, limit=limit)
