"""Filters of event routes: the vendor's language and what it lacks. Text in, predicate out."""

from __future__ import annotations

from twinframe.events.filters.compiler import Filter, FilterScope, build_filter

__all__ = ["Filter", "FilterScope", "build_filter"]
