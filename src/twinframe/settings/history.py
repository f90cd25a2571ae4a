"""The settings of the history of a graph: which values over time are kept."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import AfterValidator, BeforeValidator, Field

from twinframe.settings.section import Section

ALL: Final = "all"
"""Stands for every model in `History__Telemetry`."""


def _split_text(value: object) -> object:
    """Return the models of one text, such as `all`; an environment's lists are JSON otherwise."""
    return tuple(filter(None, value.replace(",", " ").split())) if isinstance(value, str) else value


def _check_models(value: tuple[str, ...]) -> tuple[str, ...]:
    for one in value:
        if one != ALL and not one.startswith("dtmi:"):
            raise ValueError(
                f"{one!r} is neither `all` nor the id of a model, such as dtmi:com:example:Room;1"
            )
    return value


class HistorySettings(Section):
    """Which values over time are kept."""

    telemetry: Annotated[
        tuple[str, ...], BeforeValidator(_split_text), AfterValidator(_check_models)
    ] = Field(
        default=(),
        description="Models whose telemetry is kept as points, with those that extend them; `all` "
        "keeps that of every model. Empty: none is kept.",
    )
    store: str = Field(
        default="points",
        description="Name of the plugin that keeps points; needed where telemetry is kept.",
    )
