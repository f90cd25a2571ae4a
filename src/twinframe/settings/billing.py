"""The settings section of billing: currency, provider, how often usage is measured."""

from __future__ import annotations

import re
from typing import Annotated, Final

from pydantic import Field, field_validator

from twinframe.settings.section import Section

_CURRENCY: Final = re.compile(r"[A-Z]{3}")
_DAY: Final = 86_400


class BillingSettings(Section):
    """What the control plane charges in, and who collects it."""

    currency: str = Field(
        default="EUR",
        description="Currency of the price lists (ISO 4217); amounts are in its minor units.",
    )
    provider: str = Field(
        default="manual",
        min_length=1,
        description="Who gets statements and collects the money; `manual`: the operator does.",
    )
    price_list: str = Field(
        default="",
        description="JSON file with prices and quotas that replace those of the resource types.",
    )
    sampling_seconds: Annotated[int, Field(ge=60, le=_DAY)] = Field(
        default=3600,
        description="Seconds of a period, for each of which usage is measured once; a whole part "
        "of a day.",
    )
    settling_seconds: Annotated[int, Field(ge=0, le=28 * _DAY)] = Field(
        default=3600,
        description="Seconds after the end of a month (UTC) before its statements become final.",
    )

    @field_validator("currency")
    @classmethod
    def _check_currency(cls, value: str) -> str:
        if not _CURRENCY.fullmatch(value):
            raise ValueError("must be a code of three letters, such as EUR")
        return value

    @field_validator("sampling_seconds")
    @classmethod
    def _check_period(cls, value: int) -> int:
        if _DAY % value:
            raise ValueError("must divide a day (86400) into equal parts, such as 900 or 3600")
        return value
