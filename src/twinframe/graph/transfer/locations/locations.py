"""All job locations of an installation: finds the one that a URL belongs to."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from itertools import combinations, zip_longest
from typing import Final

from twinframe.errors import UrlNotAllowed
from twinframe.graph.transfer.locations.base import Place, parse_url
from twinframe.graph.transfer.locations.buckets import BucketPlace
from twinframe.graph.transfer.locations.files import FilePlace
from twinframe.graph.transfer.locations.web import WebPlace
from twinframe.settings import JobsSettings

_GRAPH: Final = "{graph}"
_ANY_ID: Final = "[a-z0-9-]{1,63}"


class Places:
    """The locations; the first one that accepts a URL's form is used."""

    def __init__(self, places: Sequence[Place]) -> None:
        self._places = places

    def find(self, url: str) -> Place:
        """Return the location of a URL that is allowed there.

        Errors: `InvalidArgument`, `UrlNotAllowed`.
        """
        parts = parse_url(url)
        for place in self._places:
            if place.takes(parts):
                place.check(url)
                return place
        raise UrlNotAllowed(
            f"Jobs do not use {parts.scheme!a} URLs: there are file, https, http, s3, gs and az."
        )


def build_places(settings: JobsSettings, graph: str = "") -> Places:
    """Build the locations that the operator allows to a hosted graph, or to the service's own.

    SEC: one with `{graph}` in its name is for hosted graphs, each its own; one without is for no
    hosted graph.
    """
    web = WebPlace(
        settings.hosts, allow_private=settings.private_addresses, timeout=settings.read_timeout
    )
    directories, buckets = _select(settings.directories, graph), _select(settings.buckets, graph)
    return Places([FilePlace(directories), BucketPlace(buckets), web])


def _select(places: Sequence[str], graph: str) -> list[str]:
    if graph:
        return [place.replace(_GRAPH, graph) for place in places if _GRAPH in place]
    return [place for place in places if _GRAPH not in place]


def find_contested(places: Sequence[str]) -> tuple[str, str] | None:
    """Return two locations by which a graph could reach another's, through a chosen id.

    SEC: a folder beside those named with `{graph}` becomes that of the graph with its name.
    """
    for first, second in combinations(places, 2):
        if _GRAPH in first + second and _may_meet(_split(first), _split(second)):
            return first, second
    return None


def _split(place: str) -> list[str]:
    scheme, found, rest = place.rpartition("://")
    return [scheme, *posixpath.normpath(rest if found else place).strip("/").split("/")]


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
