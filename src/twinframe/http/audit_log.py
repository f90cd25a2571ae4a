"""The audit log, which writes one line per access decision."""

from __future__ import annotations

from typing import BinaryIO

import orjson

from twinframe.access.gate import AuditEntry
from twinframe.errors.masking import mask_path
from twinframe.http.line_log import LineLog, render_moment


class AuditLog(LineLog[AuditEntry]):
    """The log of all decisions, as JSON lines.

    `action` is method and path of a request, or the name of a tool; a path's query is left out.
    """

    def __init__(self, stream: BinaryIO, *, capacity: int = 65_536) -> None:
        super().__init__(stream, render_entry, name="audit", capacity=capacity)


def render_entry(entry: AuditEntry) -> bytes:
    """Render the entry as one JSON object and a line end."""
    line = {
        "time": render_moment(entry.moment),
        "level": "info" if entry.allowed else "warning",
        "message": "audit",
        "decision": "allowed" if entry.allowed else "refused",
        "subject": _render_text(entry.subject),
        "credential": entry.kind,
        "action": mask_path(entry.request_info.action),
        "needed": entry.needed,
        "reason": _render_text(entry.reason),
        "request_id": entry.request_info.request_id,
        "client": entry.request_info.client,
    }
    return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)


def _render_text(text: str) -> str:
    # SEC: a subject is the issuer's text; a lone surrogate must not stop the log.
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
