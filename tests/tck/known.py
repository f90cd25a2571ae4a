"""The list of scenarios that are known to fail, each with its reason. It runs none.

The list is strict: a scenario on it that passes is as bad as one that fails and is not on it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_LIST = Path(__file__).with_name("known_failures.toml")


@dataclass(frozen=True, slots=True)
class KnownFailure:
    """Scenarios that fail for one `reason` on these engines.

    `scenarios` are whole names; `pattern` is a regular expression of the names of a whole field
    that is not built yet, of which single scenarios may pass.
    """

    reason: str
    engines: tuple[str, ...]
    scenarios: frozenset[str] = frozenset()
    pattern: re.Pattern[str] | None = None


class KnownFailures:
    """What is known of one engine."""

    def __init__(self, failures: Sequence[KnownFailure], engine: str) -> None:
        own = [failure for failure in failures if engine in failure.engines]
        self._reasons: Mapping[str, str] = {
            name: failure.reason for failure in own for name in failure.scenarios
        }
        self._fields = [failure for failure in own if failure.pattern is not None]

    def find_reason(self, scenario: str) -> str | None:
        """Why the scenario fails; None when it is not known to."""
        found = self._reasons.get(scenario)
        if found is not None:
            return found
        for failure in self._fields:
            if failure.pattern is not None and failure.pattern.search(scenario):
                return failure.reason
        return None

    def must_fail(self, scenario: str) -> bool:
        """Whether it stands on the list by its name."""
        return scenario in self._reasons

    def find_strangers(self, names: frozenset[str]) -> Sequence[str]:
        """Names on the list that no scenario bears."""
        return sorted(self._reasons.keys() - names)


def load_known_failures(engine: str) -> KnownFailures:
    """The list kept beside this module, as far as it is about the engine."""
    with _LIST.open("rb") as file:
        entries = tomllib.load(file).get("failure", [])
    return KnownFailures([_build_failure(entry) for entry in entries], engine)


def _build_failure(entry: Mapping[str, object]) -> KnownFailure:
    engines, scenarios = entry.get("engines"), entry.get("scenarios", [])
    assert isinstance(engines, list)
    assert isinstance(scenarios, list)
    pattern = entry.get("pattern")
    return KnownFailure(
        str(entry["reason"]),
        tuple(engines),
        frozenset(scenarios),
        None if pattern is None else re.compile(str(pattern)),
    )
