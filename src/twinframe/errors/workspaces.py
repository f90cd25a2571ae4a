"""Errors of workspaces."""

from __future__ import annotations

from twinframe.errors.base import NotFound


class WorkspaceNotFound(NotFound):
    """No workspace has this id."""

    code = "WorkspaceNotFound"

    def __init__(self, workspace_id: str) -> None:
        super().__init__(
            f"There is no workspace {workspace_id}. GET /workspaces lists those that there are."
        )
        self.workspace_id = workspace_id
