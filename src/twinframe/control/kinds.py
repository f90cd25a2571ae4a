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
    keys=("organization", "project", "status", "type", "present", "ended"),
    indexes=(
        ("organization", "id"),
        ("project", "id"),
        ("project", "status", "id"),
        ("present", "id"),
        ("present", "type", "id"),
        ("status", "ended"),
    ),
)
"""NOTE: access reads `organization` and `project`; a project counts as empty by `status`.

`present` is the project too while the resource is not terminated; `ended` is when it became so.
"""

OPERATION: Final = RecordKind(
    "operation", keys=("resource",), indexes=(("resource", "id"), ("resource", "version"))
)
"""What was asked of a resource and what became of it. Ids rise with time."""

WORK: Final = RecordKind("work", keys=("due", "held"), indexes=(("held", "due"),))
"""What is to be done at a resource, whose id it has; `due` is None when nothing is."""

ROUND: Final = RecordKind("round")
"""When the provisioners last did what comes round again and again."""

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
        "place",
        "role",
        "scope",
        "principal",
        "organization",
        "project",
        "expires",
    ),
    unique=(("holder", "role"),),
    indexes=(
        ("scope", "id"),
        ("scope", "role"),
        ("organization", "id"),
        ("project", "id"),
        ("organization", "role"),
    ),
)
"""`holder` is scope and principal in one text: a check is one look-up of at most eight of them.

`place` is type of scope (with the project, if it is a resource) and principal: what somebody holds
in many places is one look-up too. NOTE: two keys would leave the choice to a planner that may take
the index of the less telling one.
"""

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

BILLING_ACCOUNT: Final = RecordKind(
    "billing_account",
    keys=("scope", "organization", "holder"),
    unique=(("holder",),),
    indexes=(("scope", "id"), ("organization", "id")),
)
"""`holder` is the scope while the account is open: a scope has one open account at most."""

BILLING_SPAN: Final = RecordKind(
    "billing_span",
    keys=("organization", "project", "resource", "began", "ended"),
    indexes=(("organization", "ended"), ("project", "ended"), ("ended", "id")),
)
"""When a resource was paid for, and as which sku. `ended` is the largest integer while it is."""

BILLING_USAGE: Final = RecordKind("billing_usage", keys=("span", "day"), indexes=(("span", "day"),))
"""What was measured at a resource in one day (UTC; the number of the day since the epoch)."""

BILLING_CLOSING: Final = RecordKind("billing_closing")
"""One record: the month through which nothing that is paid for changes any more."""

BILLING_PRICES: Final = RecordKind("billing_prices", keys=("published",))
"""Every price list that was ever in force."""

BILLING_STATEMENT: Final = RecordKind(
    "billing_statement",
    keys=("account", "month"),
    unique=(("account", "month"),),
    indexes=(("account", "month"),),
)
"""Final statements; the body is the statement itself and never changes."""

BILLING_DELIVERY: Final = RecordKind(
    "billing_delivery", keys=("state",), indexes=(("state", "id"),)
)
"""Whether the billing provider has got a final statement, whose id it has."""

RECORD_KINDS: Final = (
    ORGANIZATION,
    PROJECT,
    RESOURCE,
    OPERATION,
    WORK,
    ROUND,
    USER,
    ROLE,
    ASSIGNMENT,
    AUDIT,
    IDEMPOTENCY,
    RETIRED,
    BILLING_ACCOUNT,
    BILLING_SPAN,
    BILLING_USAGE,
    BILLING_CLOSING,
    BILLING_PRICES,
    BILLING_STATEMENT,
    BILLING_DELIVERY,
)
"""All kinds of the control plane."""
