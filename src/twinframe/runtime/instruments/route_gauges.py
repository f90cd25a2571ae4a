"""Gauges of event routes, by graph and route id.

SEC: ids of routes are chosen by their writers: only a limited number is named in labels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias

from twinframe.runtime.instruments.base import RouteStanding

MOST_NAMED: Final = 1000
OTHER: Final = "(other)"

_GAUGES: Final = {
    "event_route_behind": "Events that a route has not come to yet",
    "event_route_dead_letters": "Dead letters that are kept of a route",
    "event_route_failing": "1 for a route whose endpoint does not take events now",
}

_Pair: TypeAlias = tuple[str, str]


class RouteGauges:
    """Sets the gauges of each route.

    `build_gauge` makes a gauge of a name, a help text, a mode for several workers and its labels.
    `name_graph` returns the label of a hosted graph: its id, or `OTHER`.
    """

    def __init__(
        self,
        build_gauge: Callable[[str, str, str, list[str]], Any],
        name_graph: Callable[[str], str],
    ) -> None:
        self._name_graph = name_graph
        # NOTE: each worker reads for itself; the latest reading is right.
        self._gauges = [
            build_gauge(name, text, "livemostrecent", ["graph", "route"])
            for name, text in _GAUGES.items()
        ]
        self._named: set[_Pair] = set()

    def set(self, standings: Iterable[RouteStanding], graphs: Iterable[str]) -> None:
        """Set the state of the routes; routes of these graphs that are missing have been
        deleted.
        """
        seen = {*graphs, OTHER}
        totals = [Counter({pair: 0 for pair in self._named if pair[0] in seen}) for _ in _GAUGES]
        for standing in standings:
            pair = self._name(standing)
            for total, value in zip(totals, standing[2:], strict=True):
                total[pair] += int(value)
        for gauge, total in zip(self._gauges, totals, strict=True):
            for pair, value in total.items():
                gauge.labels(*pair).set(value)

    def _name(self, standing: RouteStanding) -> _Pair:
        pair = (standing.graph, standing.route)
        if pair in self._named:
            return pair
        if len(self._named) >= MOST_NAMED or self._name_graph(standing.graph) == OTHER:
            pair = (OTHER, OTHER)
        self._named.add(pair)
        return pair
