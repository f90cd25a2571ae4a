"""Pydantic shapes of event bodies beyond the vendor's, for the OpenAPI document only."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from twinframe.http.graph.schemas import Shape


class RouteStatus(Shape):
    """How a route stands; positions are places in the order of all events of the graph."""

    id: str
    endpoint_name: str = Field(alias="endpointName")
    position: int = Field(description="Every event up to here is done with.")
    last_position: int = Field(alias="lastPosition", description="Of the newest event.")
    first_position: int = Field(alias="firstPosition", description="Of the oldest event kept.")
    behind: int = Field(description="Events it has not come to, at most.")
    delivered: int
    dead_letters: int = Field(alias="deadLetters", description="How many it ever gave up.")
    dead_letters_kept: int = Field(alias="deadLettersKept", description="How many there are now.")
    lost: int = Field(description="Events forgotten before their turn came.")
    error: str = Field(description="What went wrong last; empty when nothing does.")
    halted: bool = Field(
        description="Whether it sends nothing, as the endpoint said that it is gone for good "
        "(410). A PUT of the route, or a replay, has it go on."
    )


class Replay(Shape):
    """Where to begin again."""

    position: int = Field(description="Of the first event to be sent again; 0 is the oldest kept.")


class DeadLetter(Shape):
    """An event that was given up."""

    position: int
    error: str
    attempts: int
    time: str = Field(description="When it was given up.")
    event: dict[str, Any] = Field(description="The CloudEvent.")


class Count(Shape):
    """How many."""

    count: int


class FilterTrial(Shape):
    """A filter to be tried on the last events."""

    filter: str = Field(examples=["CROSSED_ABOVE(temperature, 30)"])
    limit: int = Field(100, description="Most events to show.")


class TriedEvent(Shape):
    """An event that the filter passes."""

    position: int
    event: dict[str, Any] = Field(description="The CloudEvent.")


class TrialResult(Shape):
    """What a filter would have passed."""

    examined: int = Field(description="Events that were looked at.")
    value: list[TriedEvent]
