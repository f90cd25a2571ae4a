"""The settings of derived properties."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from twinframe.settings.section import Section

MOST_DERIVATIONS: Final = 1000
"""The upper limit of the setting of derivations per graph: all are read together."""
LONGEST_SETTLE: Final = 3600.0


class DerivationsSettings(Section):
    """How derived properties follow the graph."""

    max_derivations: Annotated[int, Field(ge=1, le=MOST_DERIVATIONS)] = Field(
        default=100, description="Most derivations of a graph."
    )
    settle_seconds: Annotated[float, Field(ge=0, le=LONGEST_SETTLE)] = Field(
        default=1.0,
        description="Seconds for which changes are gathered before values are computed from them, "
        "for derivations without `settleSeconds` of their own. 0: as soon as possible.",
    )
    max_text_bytes: Annotated[int, Field(ge=1, le=1024 * 1024)] = Field(
        default=8192, description="Longest `match` or `value` of a derivation."
    )
