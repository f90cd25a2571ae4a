"""The table of all kinds of record that the control plane keeps. It reads and writes none.

A kind is added here and nowhere else: `RECORD_KINDS` is what a control store is opened with.
"""

from __future__ import annotations

from typing import Final

from twinframe.storage.control import RecordKind

ORGANIZATION: Final = RecordKind("organization")

PROJECT: Final = RecordKind("project", keys=("organization",), indexes=(("organization", "id"),))

RESOURCE: Final = RecordKind(
    "resource",
    keys=("organization", "project", "status"),
    indexes=(("project", "id"), ("project", "status", "id")),
)
"""NOTE: access reads `organization` and `project`; a project counts as empty by `status`."""

USER: Final = RecordKind("user", keys=("email", "last_seen"))
"""The id is the subject of the user's tokens."""

ROLE: Final = RecordKind(
    "role",
    keys=("organization", "name"),
    unique=(("organization", "name"),),
    indexes=(("organization", "id"),),
)
"""Custom roles alone; the id is `<organization>/<role>`. The built-in ones are in `catalogue`."""

ASSIGNMENT: Final = RecordKind(
    "assignment",
    keys=(
        "holder",
        "role",
        "scope",
        "scope_type",
        "principal",
        "organization",
        "project",
        "expires",
    ),
    unique=(("holder", "role"),),
    indexes=(
        ("principal", "scope_type"),
        ("principal", "project"),
        ("scope", "id"),
        ("scope", "role"),
        ("organization", "id"),
        ("project", "id"),
        ("organization", "role"),
    ),
)
"""`holder` is scope and principal in one text: a check is one look-up of at most eight of them."""

AUDIT: Final = RecordKind(
    "audit",
    keys=("organization", "project", "target", "actor"),
    indexes=(
        ("organization", "version"),
        ("organization", "project", "version"),
        ("organization", "project", "target", "version"),
    ),
)

IDEMPOTENCY: Final = RecordKind("idempotency", keys=("expires",))
"""The id is a digest of caller and key."""

RETIRED: Final = RecordKind("retired")
"""Ids of organizations and projects that were deleted: they are never given again."""

RECORD_KINDS: Final = (
    ORGANIZATION,
    PROJECT,
    RESOURCE,
    USER,
    ROLE,
    ASSIGNMENT,
    AUDIT,
    IDEMPOTENCY,
    RETIRED,
)
"""All kinds of the control plane."""
