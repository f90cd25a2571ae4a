"""Attacks by messages to the MCP server: JSON that takes long to be read."""

from __future__ import annotations

from typing import Final

from tests.reliability.attacks.attack import Attack, Target

FIELDS: Final = (
    "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-06-18\r\n"
)
START: Final = (
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"query","arguments":{"a":['
)


def _send(piece: bytes, size: int) -> Attack:
    body = START + piece * (size // len(piece)) + b"1]}}}"

    def act(target: Target) -> None:
        target.repeat(lambda: target.call("POST", "/mcp", body, FIELDS))

    return Attack(f"messages of {size} bytes: {piece[:8].decode()}", act, ("sqlite",))


ATTACKS: Final = (
    _send(b"[],", 2_000_000),
    _send(b"{},", 2_000_000),
    _send(b"[" * 60 + b"]" * 60 + b",", 2_000_000),
    _send(b'{"k":1},', 15_000_000),
    _send(b'"",', 25_000),
)
