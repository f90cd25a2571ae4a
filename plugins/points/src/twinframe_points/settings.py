"""The settings of the points."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from twinframe.settings import Section


class PointsSettings(Section):
    """How long the points of a graph are kept, and how much room they may take."""

    keep_days: Annotated[int, Field(ge=0)] = Field(
        default=400,
        description="Days, by the time of the source, for which points are kept. Whole days (UTC) "
        "are removed. 0: no limit.",
    )
    keep_bytes: Annotated[int, Field(ge=0)] = Field(
        default=8 * 1024**3,
        description="Most bytes that the points of one graph take. Beyond that, the oldest day is "
        "removed, also if that is today. 0: no limit.",
    )
    busy_timeout: Annotated[float, Field(gt=0)] = Field(
        default=5.0,
        description="Seconds that a write waits for those of other processes before it is "
        "answered with 503.",
    )
