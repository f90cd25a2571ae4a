"""Filters of event routes, in the vendor's language with extensions, compiled to predicates."""

from __future__ import annotations

from twinframe.graph.events.filters.compiler import Filter, FilterScope, build_filter

__all__ = ["Filter", "FilterScope", "build_filter"]
