"""The settings of the history of a graph: its changes, and values over time."""

from __future__ import annotations

import re
from typing import Annotated, Final

from pydantic import AfterValidator, BeforeValidator, Field

from twinframe.errors.nearest import render_suggestion
from twinframe.settings.section import Bytes, Section

ALL: Final = "all"
"""Stands for every model in `History__Telemetry` and `History__Properties`."""
HISTORIZED: Final = "historized"
"""Stands for what models declare as Historized, in the same settings."""
_WORDS: Final = (ALL, HISTORIZED)


def _split_text(value: object) -> object:
    """Return the models of one text, such as `all`; an environment's lists are JSON otherwise."""
    return tuple(filter(None, value.replace(",", " ").split())) if isinstance(value, str) else value


def _check_models(value: tuple[str, ...]) -> tuple[str, ...]:
    for one in value:
        if one not in _WORDS and not one.startswith("dtmi:"):
            raise ValueError(
                f"{one!r} is unknown{render_suggestion(one, _WORDS) or '.'} It must be `all`, "
                "`historized` or the id of a model, such as dtmi:com:example:Room;1"
            )
    return value


# NOTE: the grammar of `parse_model_id`, which settings cannot import; a test compares the two.
_NAME: Final = "[A-Za-z](?:[A-Za-z0-9_]*[A-Za-z0-9])?"
_MODEL_ID: Final = re.compile(
    rf"dtmi:{_NAME}(?::{_NAME})*(?:;[1-9]\d{{0,8}}(?:\.[1-9]\d{{0,5}})?)?", re.ASCII
)
_LONGEST_ID: Final = 2048


def _check_ids(value: tuple[str, ...]) -> tuple[str, ...]:
    for one in value:
        if one.startswith("dtmi:") and not (len(one) <= _LONGEST_ID and _MODEL_ID.fullmatch(one)):
            raise ValueError(
                f"{one[:100]!r} is not the id of a model, such as dtmi:com:example:Room;1"
            )
    return value


class HistorySettings(Section):
    """How long the changes of a graph are kept, and which values over time."""

    enabled: bool = Field(
        default=True,
        description="Keep the changes of twins, relationships and models. If false, they are "
        "deleted as Events__KeepHours and Events__KeepBytes say.",
    )
    keep_days: Annotated[float, Field(gt=0, le=3660)] = Field(
        default=30.0,
        description="Days after which changes are deleted. Those that events still need are kept.",
    )
    keep_bytes: Bytes = Field(
        default=1024 * 1024 * 1024,
        description="Bytes of stored changes and events, telemetry included. Beyond it, the oldest "
        "are deleted.",
    )
    copies_bytes: Annotated[int, Field(ge=0)] = Field(
        default=1024 * 1024 * 1024,
        description="Bytes of copies of earlier states, which are made for queries that ask about "
        "the same state again. Each has at most half. 0: none is made.",
    )
    who: bool = Field(
        default=True,
        description="Keep with each change who made it: the subject of the token, or the name of "
        "the API key.",
    )
    telemetry: Annotated[
        tuple[str, ...],
        BeforeValidator(_split_text),
        AfterValidator(_check_models),
        AfterValidator(_check_ids),
    ] = Field(
        default=(),
        description="Models whose telemetry is kept as points, with those that extend them; `all` "
        "keeps that of every model, `historized` telemetry that a model declares as Historized. "
        "Empty: none is kept.",
    )
    properties: Annotated[
        tuple[str, ...],
        BeforeValidator(_split_text),
        AfterValidator(_check_models),
        AfterValidator(_check_ids),
    ] = Field(
        default=(ALL,),
        description="Models whose properties have series and `valueAt`, with those that extend "
        "them; `all` is every model, `historized` the properties that a model declares as "
        "Historized. Earlier states and changes are kept of all alike.",
    )
    store: str = Field(
        default="points",
        description="Name of the plugin that keeps points; needed where telemetry is kept.",
    )
