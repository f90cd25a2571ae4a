"""Whole graphs as text: the vendor's NDJSON of imports, written and read, over no transport."""

from __future__ import annotations
