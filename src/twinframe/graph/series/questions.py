"""What is asked of a series: from when to when, in which steps, and which aggregates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from twinframe.errors import InvalidArgument, LimitExceeded, MissingArgument
from twinframe.errors.nearest import render_hint
from twinframe.graph.series.lines import check_ahead
from twinframe.model.moments import parse_moment, parse_step, render_moment
from twinframe.storage.points import AGGREGATES, Window


@dataclass(frozen=True, slots=True)
class SeriesQuestion:
    """The texts of a question, each None where it was not given.

    `start` and `end` are moments, `every` is a step of time.
    """

    start: str | None = None
    end: str | None = None
    every: str | None = None
    aggregates: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Asked:
    """A checked question. Without `every` it is for the points themselves."""

    start: int
    end: int
    every: int | None
    aggregates: Sequence[str]

    @property
    def window(self) -> Window:
        """The window of a question for aggregates."""
        length = self.end - self.start
        return Window(self.start, self.end, min(self.every or length, length))


def parse_question(question: SeriesQuestion, now: int, most: int) -> Asked:
    """Check a question. `most` is the most buckets, `now` the time in microseconds.

    Raises `InvalidArgument`, `LimitExceeded`, `MissingArgument`.
    """
    if not question.start:
        raise MissingArgument("from is needed: the first moment of the series.")
    start = _parse_bound("from", question.start, now)
    end = now + 1 if not question.end else _parse_bound("to", question.end, now)
    if start >= end:
        raise InvalidArgument(
            f"from ({render_moment(start)}) must be before to ({render_moment(end)})."
        )
    for name in question.aggregates:
        if name not in AGGREGATES:
            raise InvalidArgument(
                f"There is no aggregate {name[:100]!r}. {render_hint(name, AGGREGATES)}"
            )
    if not question.every:
        if question.aggregates:
            raise InvalidArgument("aggregate needs every, a step of time such as 5m.")
        return Asked(start, end, None, ())
    try:
        asked = Asked(start, end, parse_step(question.every), question.aggregates or ("avg",))
    except InvalidArgument as error:
        raise InvalidArgument(f"every: {error.message}") from error
    if asked.window.count > most:
        raise LimitExceeded(
            f"From {render_moment(start)} to {render_moment(end)} every {question.every} has "
            f"{asked.window.count} buckets; at most {most} are answered (Graph__MaxPageSize). Ask "
            "for a longer step, or for less time at once."
        )
    return asked


def _parse_bound(name: str, text: str, now: int) -> int:
    try:
        return check_ahead(parse_moment(text), now)
    except InvalidArgument as error:
        raise InvalidArgument(f"{name}: {error.message}") from error
