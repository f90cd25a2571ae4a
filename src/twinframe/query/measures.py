"""What the operators of a plan did in a run, as PROFILE shows it."""

from __future__ import annotations

from dataclasses import dataclass, field

from twinframe.query.algebra import Operator
from twinframe.query.traversal import walk_inputs


@dataclass(slots=True)
class Measure:
    """The `rows` that an operator gave, and the `seconds` that it and all below it took."""

    rows: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class Measures:
    """What the operators of a plan did, by their positions in `walk_inputs`.

    `engine` is the name of the engine that answered, where it is another than the one that compiled
    the plan.
    """

    operators: dict[int, Measure] = field(default_factory=dict)
    engine: str | None = None

    def open(self, root: Operator) -> dict[int, Measure]:
        """Return new measures of a plan's operators, by their `id`."""
        found = {id(one): Measure() for one in walk_inputs(root)}
        self.operators = dict(enumerate(found[id(one)] for one in walk_inputs(root)))
        return found
