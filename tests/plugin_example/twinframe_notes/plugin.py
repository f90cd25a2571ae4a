"""A site of ten lines: one page at `/notes`. It is what the page on sites shows."""

from __future__ import annotations

from collections.abc import Sequence

from twinframe import hookimpl
from twinframe.hooks.sites import Content, ServiceFacts, Site, SiteRequest, build_content


class Notes(Site):
    """Says which service it is at."""

    path = "/notes"

    def __init__(self, service: ServiceFacts) -> None:
        text = f"<!doctype html><title>Notes</title><p>twinframe {service.version}</p>"
        self._page = build_content(text.encode(), "text/html; charset=utf-8")

    async def read(self, request: SiteRequest) -> Content | None:
        """Its one page."""
        return None if request.segments else self._page


@hookimpl
def twinframe_routes(service: ServiceFacts) -> Sequence[Site]:
    """The site."""
    return (Notes(service),)
