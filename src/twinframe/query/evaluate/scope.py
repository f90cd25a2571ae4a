"""Maps the variables of a row to their positions, at compile time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from twinframe.query.algebra import Operator
from twinframe.query.evaluate.member_typing import MemberTyping
from twinframe.query.evaluate.run import Stream


@dataclass(frozen=True, slots=True)
class Plans:
    """State that one compilation shares.

    `compile_subplan` compiles a correlated plan for outer rows of a given scope: expressions
    contain plans, and reach the operators by it without importing them. `mentioned` are the
    variables that the query reads besides binding them; `typing` says which members have types
    other than JSON's, None when all are read as they are stored.
    """

    compile_subplan: Callable[[Operator, Scope], CompiledPlan]
    mentioned: frozenset[str]
    typing: MemberTyping | None = None


@dataclass(frozen=True, slots=True)
class Scope:
    """The variables of a row in order; of two equal names the later one counts.

    `plans` is the state that the whole compilation shares.
    """

    names: tuple[str, ...]
    plans: Plans
    _slots: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)

    def find_slot(self, name: str) -> int:
        """Return the position of a variable; an unknown one is a defect of the plan, not of the
        query text.
        """
        # PERF: thousands of columns are looked up in a scope of as many.
        slots = self._slots
        if not slots:
            slots.update((each, slot) for slot, each in enumerate(self.names))
        slot = slots.get(name)
        if slot is not None:
            return slot
        known = ", ".join(repr(one) for one in self.names) or "none"
        raise LookupError(f"The plan reads the variable {name!r}, but its row has: {known}.")

    def extend(self, *names: str) -> Scope:
        """Return the scope of rows that have further values at their end."""
        return Scope((*self.names, *names), self.plans)

    def replace(self, names: Sequence[str]) -> Scope:
        """Return a scope of other variables over the same plans."""
        return Scope(tuple(names), self.plans)


@dataclass(frozen=True, slots=True)
class CompiledPlan:
    """A compiled operator: the scope of its rows and how to run it."""

    scope: Scope
    stream: Stream
