"""The access log, which writes one line per request, separate from the service's log."""

from __future__ import annotations

from typing import BinaryIO, Literal, NamedTuple

from twinframe.errors.masking import mask_path
from twinframe.http.line_log import LineLog, render_moment


class AccessEntry(NamedTuple):
    """One request: `moment` in seconds since the epoch, `seconds` from its head to its answer.

    PERF: made in 0.4 us; a frozen dataclass of eight fields takes 1.2 us.
    """

    moment: float
    seconds: float
    method: str
    path: bytes
    status: int
    sent: int
    request_id: bytes
    client: str


class AccessLog(LineLog[AccessEntry]):
    """The log of requests."""

    def __init__(
        self, stream: BinaryIO, form: Literal["json", "text"] = "json", *, capacity: int = 65_536
    ) -> None:
        render = render_json if form == "json" else render_line
        super().__init__(stream, render, name="access", capacity=capacity)


def render_json(entry: AccessEntry) -> bytes:
    """Render the entry as one JSON object and a line end.

    PERF: concatenated by hand, 1.1 us a line where a dictionary and its rendering take 2.0.
    """
    moment, seconds, method, path, status, sent, request_id, client = entry
    name = _render_path(path)
    if '"' in name or "\\" in name:
        name = name.replace("\\", "\\\\").replace('"', '\\"')
    return (
        f'{{"time":"{render_moment(moment)}","level":"info","message":"request",'
        f'"method":"{method}","path":"{name}","status":{status},'
        f'"milliseconds":{seconds * 1000:.3f},"bytes":{sent},'
        f'"request_id":"{request_id.decode("ascii")}","client":"{client}"}}\n'
    ).encode()


def render_line(entry: AccessEntry) -> bytes:
    """Render the entry as one line of text."""
    return (
        f"{render_moment(entry.moment)} {entry.client} {entry.method} {_render_path(entry.path)}"
        f" {entry.status} {entry.sent}B {entry.seconds * 1000:.3f}ms"
        f" {entry.request_id.decode('ascii')}\n"
    ).encode()


def _render_path(path: bytes) -> str:
    # SEC: raw paths are printable ASCII by the time they come here; anything else is escaped.
    return mask_path(path.decode("ascii", "backslashreplace"))
