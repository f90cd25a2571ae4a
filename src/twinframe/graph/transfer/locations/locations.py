"""All job locations of an installation: finds the one that a URL belongs to."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from itertools import combinations, zip_longest
from typing import Final

from twinframe.errors import UrlNotAllowed
from twinframe.graph.transfer.locations.base import JobLocation, parse_url
from twinframe.graph.transfer.locations.buckets import BucketLocation
from twinframe.graph.transfer.locations.files import FileLocation
from twinframe.graph.transfer.locations.web import WebLocation
from twinframe.settings import JobsSettings

_GRAPH: Final = "{graph}"
_ANY_ID: Final = "[a-z0-9-]{1,63}"


class JobLocations:
    """The locations; the first one that accepts a URL's form is used."""

    def __init__(self, locations: Sequence[JobLocation]) -> None:
        self._locations = locations

    def extend(self, location: JobLocation) -> JobLocations:
        """Return these locations and another one."""
        return JobLocations([*self._locations, location])

    def find(self, url: str) -> JobLocation:
        """Return the location of a URL that is allowed there.

        Errors: `InvalidArgument`, `UrlNotAllowed`.
        """
        parts = parse_url(url)
        for location in self._locations:
            if location.takes(parts):
                location.check(url)
                return location
        raise UrlNotAllowed(
            f"Jobs do not use {parts.scheme!a} URLs: there are file, https, http, s3, gs, "
            "az and upload."
        )


def build_locations(settings: JobsSettings, graph: str = "") -> JobLocations:
    """Build the locations that the operator allows to a hosted graph, or to the service's own.

    SEC: one with `{graph}` in its name is for hosted graphs, each its own; one without is for no
    hosted graph.
    """
    web = WebLocation(
        settings.hosts, allow_private=settings.private_addresses, timeout=settings.read_timeout
    )
    directories, buckets = _select(settings.directories, graph), _select(settings.buckets, graph)
    return JobLocations([FileLocation(directories), BucketLocation(buckets), web])


def _select(locations: Sequence[str], graph: str) -> list[str]:
    if graph:
        return [location.replace(_GRAPH, graph) for location in locations if _GRAPH in location]
    return [location for location in locations if _GRAPH not in location]


def find_contested(locations: Sequence[str]) -> tuple[str, str] | None:
    """Return two locations by which a graph could reach another's, through a chosen id.

    SEC: a folder beside those named with `{graph}` becomes that of the graph with its name.
    """
    for first, second in combinations(locations, 2):
        if _GRAPH in first + second and _may_meet(_split(first), _split(second)):
            return first, second
    return None


def _split(location: str) -> list[str]:
    scheme, found, rest = location.rpartition("://")
    return [scheme, *posixpath.normpath(rest if found else location).strip("/").split("/")]


def _may_meet(first: Sequence[str], second: Sequence[str]) -> bool:
    """Return whether one of the two could be inside the other, as locations of two graphs."""
    is_chosen = False
    for one, other in zip_longest(first, second):
        if one is None or other is None:
            break
        if _GRAPH not in one + other:
            if one != other:
                return False
            continue
        if one == other:
            return False  # both are of one graph
        is_chosen = True
        if not (_GRAPH in one and _GRAPH in other) and not (_fits(one, other) or _fits(other, one)):
            return False
    return is_chosen


def _fits(name: str, template: str) -> bool:
    parts = [re.escape(part) for part in template.split(_GRAPH)]
    return re.fullmatch(_ANY_ID.join(parts), name) is not None
