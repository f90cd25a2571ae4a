"""The settings section of memory: the limits on what a service holds for its clients."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from twinframe.settings.section import Section

Share = Annotated[int, Field(ge=1, le=100)]


class MemorySettings(Section):
    """What a service holds for its clients at most; who asks for more is told so, the rest goes on.

    Parts may have more than 100 percent together: none of them ever takes what another one holds.
    """

    bytes_: Annotated[int, Field(ge=0)] = Field(
        default=0,
        description="Memory of all workers together. 0 is half of what the machine, or the "
        "container, has, and at most 384 MiB a worker. Of its share each worker needs 96 MiB "
        "itself, and holds the rest for clients.",
    )
    requests: Share = Field(
        default=45,
        description="Percent of that for bodies on their way in, and what is parsed of them.",
    )
    writes: Share = Field(
        default=35, description="Percent for documents and patches that are worked on."
    )
    queries: Share = Field(
        default=50,
        description="Percent for values that queries compute, compiled patterns, collected rows.",
    )
    answers: Share = Field(
        default=35, description="Percent for answers that clients have not taken yet."
    )
    imports: Share = Field(
        default=50, description="Percent for sections of models and spools of imports and exports."
    )
