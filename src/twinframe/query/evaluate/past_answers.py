"""Answers of a reader about the past that one run holds, and the questions that it gathers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Generic, TypeVar

from twinframe.errors import MemoryExhausted, QueryTimeout, TwinframeError
from twinframe.model.values import Value
from twinframe.query.reader import (
    Answer,
    ChangesQuestion,
    PastReader,
    ValueQuestion,
    ValuesOverTime,
)

Q = TypeVar("Q", bound=Hashable)

_MOST_ASKED: Final = 256
"""Questions of one kind that are asked together."""
_MOST_HELD: Final = 4 * _MOST_ASKED
_MOST_BYTES: Final = 32 * 1024 * 1024


class Unanswered(Exception):
    """What is evaluated needs an answer that has not been asked for yet."""


class Answers(Generic[Q]):
    """Answers to questions of one kind; the oldest are forgotten."""

    def __init__(self, read: Callable[[Sequence[Q]], Sequence[Answer]]) -> None:
        self._read = read
        self._found: dict[Q, Answer] = {}
        self._size = 0
        self.wanted: dict[Q, None] = {}
        self.gathers = False
        self.at_once = _MOST_ASKED

    def ask(self, question: Q) -> Value:
        """Return the answer; raise `Unanswered` where questions are only gathered."""
        found = self._found.get(question)
        if found is not None:
            return found.value
        if not self.gathers:
            (answer,) = self._fetch([question])
            return answer.value
        if len(self.wanted) < self.at_once:
            self.wanted[question] = None
        raise Unanswered

    def fetch_wanted(self) -> bool:
        """Ask what was gathered; return whether there was anything.

        So many are asked together that all of their answers may be held.
        """
        wanted, self.wanted = [*self.wanted], {}
        if not wanted:
            return False
        size = sum(answer.size for answer in self._fetch(wanted)) // len(wanted)
        fitting = _MOST_BYTES // (2 * max(size, 1))
        self.at_once = max(min(_MOST_ASKED, fitting), 1)
        return True

    def _fetch(self, questions: Sequence[Q]) -> Sequence[Answer]:
        answers = self._read(questions)
        self._size += sum(answer.size for answer in answers)
        self._found.update(zip(questions, answers, strict=True))
        while len(self._found) > len(questions) and (
            len(self._found) > _MOST_HELD or self._size > _MOST_BYTES
        ):
            self._size -= self._found.pop(next(iter(self._found))).size
        return answers


class PastAnswers:
    """What a run knows of the past.

    To ask many questions at once, expressions are evaluated twice: first to gather the questions
    to which they come, then with the answers.
    """

    def __init__(self, reader: PastReader) -> None:
        self.values = Answers[ValueQuestion](reader.read_values)
        self.changes = Answers[ChangesQuestion](reader.list_changes)
        self.series = Answers[ValuesOverTime](reader.read_series)
        self._all: tuple[Answers[Any], ...] = (self.values, self.changes, self.series)

    @property
    def gathers(self) -> bool:
        """Whether questions are gathered now."""
        return self.values.gathers

    @property
    def at_once(self) -> int:
        """How many questions of any kind are asked together."""
        return min(one.at_once for one in self._all)

    @contextmanager
    def gathering(self) -> Iterator[None]:
        """Gather questions in the block instead of asking them."""
        for one in self._all:
            one.gathers = True
        try:
            yield
        finally:
            for one in self._all:
                one.gathers = False

    def fetch_wanted(self) -> bool:
        """Ask what was gathered; return whether there was anything, and all was answered."""
        try:
            return sum(one.fetch_wanted() for one in self._all) > 0  # of all, not of the first
        except (QueryTimeout, MemoryExhausted):
            raise
        except TwinframeError:  # whoever needs that answer asks again, alone
            return False
