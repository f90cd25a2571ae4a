"""All places of an installation: which one a URL is of. It opens none itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from twinframe.errors import UrlNotAllowed
from twinframe.graph.jobs.places.base import Place, parse_url
from twinframe.graph.jobs.places.buckets import BucketPlace
from twinframe.graph.jobs.places.files import FilePlace
from twinframe.graph.jobs.places.web import WebPlace
from twinframe.settings import JobsSettings

_GRAPH: Final = "{graph}"


class Places:
    """Places, the first that takes a URL being the one."""

    def __init__(self, places: Sequence[Place]) -> None:
        self._places = places

    def find(self, url: str) -> Place:
        """The place of a URL that is allowed there. Errors: `InvalidArgument`, `UrlNotAllowed`."""
        parts = parse_url(url)
        for place in self._places:
            if place.takes(parts):
                place.check(url)
                return place
        raise UrlNotAllowed(
            f"Jobs do not use {parts.scheme!a} URLs: there are file, https, http, s3, gs and az."
        )


def build_places(settings: JobsSettings, graph: str = "") -> Places:
    """The places that the operator allows to a hosted graph, or to the service's own.

    SEC: what is named with `{graph}` in it is of the hosted graphs, each its own; what is named
    without is of no hosted graph.
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
