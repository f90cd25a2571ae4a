"""The state of one run of a compiled plan: reader, parameters, budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from twinframe.errors import QueryInvalid
from twinframe.model.clock import read_clock
from twinframe.model.values import Node, Relationship, Value
from twinframe.query.evaluate.limits import Budget, Limits
from twinframe.query.evaluate.member_sets import Members
from twinframe.query.evaluate.member_typing import MemberTyping
from twinframe.query.evaluate.past_answers import PastAnswers
from twinframe.query.reader import GraphReader

Row = tuple[Value, ...]
"""One row: the values of the scope's variables, in scope order."""


class Run:
    """The state that operators and expressions use while they run. One run, one thread."""

    __slots__ = (
        "_instant",
        "budget",
        "memberships",
        "parameters",
        "past",
        "patterns",
        "reader",
        "typing",
    )

    def __init__(
        self,
        reader: GraphReader,
        parameters: Mapping[str, Value],
        limits: Limits,
        typing: MemberTyping | None = None,
    ) -> None:
        self.reader = reader
        self.parameters = parameters
        self.budget = Budget(limits, reader.check_deadline)
        self.typing = typing
        self.memberships: dict[object, tuple[list[Value], Members | None]] = {}
        """By the IN expression: the last list, and its members if it came before."""
        self.patterns: dict[str, Any] = {}
        """Compiled regular expressions of the run by their text; `query.evaluate.text`."""
        self._instant: int | None = None
        self.past = None if reader.past is None else PastAnswers(reader.past)

    def read_parameter(self, name: str) -> Value:
        """Return the parameter's value; raise `QueryInvalid` when the request did not send it."""
        try:
            return self.parameters[name]
        except KeyError:
            known = ", ".join(f"${one}" for one in sorted(self.parameters)) or "none"
            raise QueryInvalid(
                f"The query uses ${name}, which the request does not give; it gives: {known}.",
                kind="ParameterMissing",
                detail="MissingParameter",
            ) from None

    def read_instant(self) -> int:
        """Return nanoseconds since 1970-01-01T00:00Z: one instant for the whole run, read at first
        use.
        """
        if self._instant is None:
            self._instant = read_clock()
        return self._instant

    def read_node(self, node_id: str) -> Node | None:
        """Return one node by its id, or None. PERF: not batched; for functions of single values."""
        return self.reader.read_nodes((node_id,)).get(node_id)

    def read_own_member(self, owner: Node | Relationship, key: str) -> Value:
        """Return `owner.key`, typed by the owner's model where this run has a typing."""
        if self.typing is None:
            return owner.document.get(key)  # type: ignore[return-value]  # JSON values are values
        return self.typing.read_member(self.reader, owner, key)


Evaluate = Callable[[Row, Run], Value]
"""A compiled expression: the value for a row."""

Stream = Callable[[Run, Row], Iterator[Row]]
"""A compiled operator: its rows, given the run and the outer row of its `Argument`."""
