"""Background work: pieces of work that one worker at a time runs until they are done."""

from __future__ import annotations
