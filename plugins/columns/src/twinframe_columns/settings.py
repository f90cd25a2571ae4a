"""The settings of the columns."""

from __future__ import annotations

from pydantic import Field

from twinframe.settings import Section


class ColumnsSettings(Section):
    """Columns of a graph's properties, from which questions about many twins are answered."""

    enabled: bool = Field(default=True, description="Answer from columns what they answer exactly.")
    least_twins: int = Field(
        default=2_000,
        ge=0,
        description="Make columns for graphs with at least this many twins; smaller ones are fast "
        "without.",
    )
