"""Work that goes on behind requests, by one worker at a time, until it is done."""

from __future__ import annotations
