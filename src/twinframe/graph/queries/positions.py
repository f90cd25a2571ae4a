"""Where the next page of a query starts, and the tokens that carry it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, cast

from twinframe.graph.context.paging import Continuation, TokenSigner
from twinframe.model.values import JsonValue, Value

OPERATION: Final = "query"
"""What the tokens are for."""


class State(NamedTuple):
    """The position of an earlier state, and the words in which it was asked for."""

    position: int
    asked: str


# PERF: not frozen, since each query makes one and setting a field of a frozen object takes 50 ns
# more. It is never changed.
@dataclass(slots=True)
class Position:
    """A query and where its next page starts.

    After the key `after`, or in the stored `result` (name and offset), else at its first row. The
    `state` is None for the present one.
    """

    text: str
    parameters: Mapping[str, JsonValue]
    after: int | str | None = None
    result: tuple[str, int] | None = None
    state: State | None = None

    @property
    def values(self) -> Mapping[str, Value]:
        """The parameters as values of the query."""
        return self.parameters  # type: ignore[return-value]  # every JSON value is one


def render_token(signer: TokenSigner, position: Position, size: int) -> str:
    """Return the token with which a query continues at a position."""
    result: JsonValue = None if position.result is None else [*position.result]
    state: list[JsonValue] = [position.text, dict(position.parameters), position.after, result]
    if position.state is not None:
        state.append([*position.state])
    return signer.render(OPERATION, None, Continuation(state, size))


def parse_position(state: JsonValue) -> Position:
    """Return the position that a token carries; only signed state comes this far."""
    text, parameters, after, result, *past = cast("list[Any]", state)
    kept = None if result is None else (result[0], result[1])
    return Position(text, parameters, after, kept, State(*past[0]) if past else None)
