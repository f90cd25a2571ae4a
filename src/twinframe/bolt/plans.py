"""Plans in summaries: what EXPLAIN and PROFILE answer as rows, in the form that drivers read.

SPEC: the members `plan` and `profile` of the last SUCCESS, as drivers parse them: `operatorType`,
`identifiers`, `args`, `children`, and for a profile `dbHits`, `rows` and `time` in nanoseconds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

_PREFIX: Final = re.compile(r"\s*(EXPLAIN|PROFILE)\b", re.IGNORECASE)
_COLUMNS: Final = ("plan", "pushed", "operators")
_DEEPEST: Final = 100
"""Drivers build a plan by recursion, as deep as it is."""
_NANOSECONDS: Final = 1_000_000


class SummaryPlan(NamedTuple):
    """A plan, and its name in a summary."""

    member: str
    root: Mapping[str, object]


def find_prefix(text: str) -> str:
    """Return `plan` or `profile` for a text that asks for one, else nothing."""
    found = _PREFIX.match(text)
    if found is None:
        return ""
    return "profile" if found[1].upper() == "PROFILE" else "plan"


def build_query_plan(member: str, columns: Sequence[str], row: Sequence[Any]) -> SummaryPlan | None:
    """Return the plan of a query from its one row; None if that is no such row."""
    found = dict(zip(columns, row, strict=True))
    if tuple(columns[: len(_COLUMNS)]) != _COLUMNS:
        return None
    pushed, operators = found["pushed"], found["operators"]
    is_profile = member == "profile"
    nodes = [_build_operator(one, pushed, is_profile=is_profile) for one in operators]
    depths = [0] * len(nodes)
    # NOTE: sources come after their consumers in the list.
    for at, operator in enumerate(operators):
        for child in operator["children"]:
            depths[child] = depths[at] + 1
            if depths[child] < _DEEPEST:
                nodes[at]["children"].append(nodes[child])
    root = nodes[0]
    root["args"] |= {"string-representation": found["plan"], "planner": "twinframe"}
    if "engine" in found:
        root["args"]["runtime"] = found["engine"]
    return SummaryPlan(member, root)


def _build_operator(
    operator: Mapping[str, Any], pushed: Sequence[Mapping[str, Any]], *, is_profile: bool
) -> dict[str, Any]:
    arguments: dict[str, object] = {"Details": operator["arguments"]}
    if operator["part"] is not None:
        part = pushed[operator["part"]]
        arguments |= {"runtime": part["engine"], "indexes": part["indexes"]}
    if operator.get("note"):
        arguments["note"] = operator["note"]
    node = {
        "operatorType": operator["operator"],
        "identifiers": [],
        "args": arguments,
        "children": [],
    }
    if is_profile:
        # NOTE: drivers require it, and nothing here counts hits.
        node["dbHits"] = 0
        if operator["rows"] is not None:
            node["rows"] = operator["rows"]
        if operator["milliseconds"] is not None:
            node["time"] = int(operator["milliseconds"] * _NANOSECONDS)
    return node


def build_statement_plan(rows: Sequence[Sequence[Any]]) -> SummaryPlan | None:
    """Return the plan of a statement that writes: its steps, the last one first."""
    node: dict[str, object] | None = None
    for step, details in rows[-_DEEPEST:]:
        node = {
            "operatorType": step,
            "identifiers": [],
            "args": {"Details": details},
            "children": [] if node is None else [node],
        }
    return None if node is None else SummaryPlan("plan", node)
