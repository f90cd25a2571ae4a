"""The settings of ingestion: sources of messages, and how much of them is held."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, SecretStr, field_validator

from twinframe.settings.events import ENDPOINT_NAME, render_values
from twinframe.settings.section import Bytes, Count, Section

SourceName = Annotated[str, Field(pattern=f"^{ENDPOINT_NAME}$")]
SourceKeys = dict[str, SecretStr]
"""`Type`, `Mappings` and the keys of the source's plugin; secret as a whole."""


class IngestionSettings(Section):
    """Messages of brokers that become points and properties of twins."""

    sources: dict[SourceName, SourceKeys] = Field(
        default={},
        description="Sources of messages, by name: `Ingestion__Sources__building__Type=mqtt`, the "
        "keys of that type, and `Mappings`, a JSON array that says what to write.",
    )
    max_messages: Annotated[int, Field(ge=1, le=65_535)] = Field(
        default=4000,
        description="Messages of a source that are received and not yet acknowledged.",
    )
    max_bytes: Bytes = Field(
        default=16 * 1024 * 1024, description="Bytes of these messages, and of the largest one."
    )
    dead_letters: Count = Field(
        default=50, le=1000, description="Refused messages that are kept of a source, the last."
    )

    @field_validator("sources", mode="before")
    @classmethod
    def _render_values(cls, value: Any) -> Any:
        return render_values(value)
