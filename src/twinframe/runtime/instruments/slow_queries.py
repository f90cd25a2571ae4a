"""The slow-query log, which logs one line for each query that took long."""

from __future__ import annotations

import logging
import re
from typing import Final

from twinframe.runtime.instruments.base import CURRENT_REQUEST, Instruments, QueryRun
from twinframe.settings.operations import SlowQueryText

logger = logging.getLogger("twinframe.slow_queries")

_LONGEST_TEXT: Final = 4_000

# SEC: what may contain data: strings in both quotes of both languages, comments, numbers. After an
# unclosed quote, the rest of the text. Quoted names contain none.
_LITERAL: Final = re.compile(
    r"`[^`]*`"
    r"|(?P<string>'(?:[^'\\]|\\.)*(?:'|\Z)|\"(?:[^\"\\]|\\.)*(?:\"|\Z))"
    r"|(?P<comment>//[^\n\r]*|/\*.*?(?:\*/|\Z))"
    r"|(?<![\w$.])(?P<number>(?:\d[\w.]*|\.\d[\w.]*)(?:(?<=[eE])[+-]\d+)?)",
    re.DOTALL,
)


class SlowQueryLog(Instruments):
    """Logs queries that took `seconds` or longer, as warnings.

    SEC: values of parameters are never logged. `text` selects how much of the query's own text is:
    `masked` replaces literals, since those too may be secrets.
    """

    takes_writes = False

    def __init__(self, seconds: float, text: SlowQueryText) -> None:
        self.least_query = seconds
        self._text = text

    def note_query(self, run: QueryRun) -> None:
        """Log the query if it was slow."""
        if run.seconds < self.least_query:
            return
        fields: dict[str, object] = {
            "milliseconds": round(run.seconds * 1000, 3),
            "language": run.language,
            "engine": run.engine,
            "plan": run.fingerprint(),
            "rows": run.rows,
            "charge": run.charge,
            "outcome": run.error or "done",
            "request_id": CURRENT_REQUEST.get(),
        }
        for name, span in (("compile_ms", run.compiling), ("run_ms", run.running)):
            if span is not None:
                fields[name] = round((span[1] - span[0]) * 1000, 3)
        if self._text != "none":
            shown = run.text if self._text == "full" else mask_literals(run.text)
            fields["query"] = _render_text(shown)
        logger.warning("slow query", extra=fields)


def mask_literals(text: str) -> str:
    """Return a query text of either language with `?` for each literal, and without comments.

    PERF: linear in the text; it is only called for queries that took far longer.
    """
    return _LITERAL.sub(_mask, text)


def _mask(found: re.Match[str]) -> str:
    match found.lastgroup:
        case "string" | "number":
            return "?"
        case "comment":
            return " "
        case _:
            return found.group()


def _render_text(text: str) -> str:
    short = text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"
    return short.encode("utf-8", "replace").decode()
