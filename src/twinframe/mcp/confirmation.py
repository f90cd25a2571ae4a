"""Guards deletions: they need the etag of the object, or an explicit confirmation.

NOTE: an elicitation would ask the user, but stateless transports cannot carry one, so it cannot be
the only way. Clients that ask their user do so because of the tool's `destructiveHint`.
"""

from __future__ import annotations

from twinframe.mcp.errors import NotConfirmed


def require_confirmation(if_match: str | None, *, confirmed: bool) -> None:
    """Raise `NotConfirmed` unless one of the two is given. `*` is no etag that was read."""
    if confirmed or (if_match is not None and if_match.strip() != "*"):
        return
    raise NotConfirmed(
        "A deletion cannot be undone. Give if_match with the $etag that you read, or confirm: true "
        "when the user wants it. dry_run: true shows what would go."
    )
