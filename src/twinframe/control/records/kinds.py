"""The table of all kinds of record in the control store.

Every kind is declared here: a control store is opened with `RECORD_KINDS`.
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
"""NOTE: access checks read `organization` and `project`; a project counts as empty by `status`.

`present` also holds the project while the resource is not terminated; `ended` is when it became so.
"""

OPERATION: Final = RecordKind(
    "operation", keys=("resource",), indexes=(("resource", "id"), ("resource", "version"))
)
"""Operations requested on resources, and their outcomes. Ids rise with time."""

RECONCILE_ITEMS: Final = RecordKind("work", keys=("due", "held"), indexes=(("held", "due"),))
"""The pending work at a resource, which has the same id; `due` is None when there is none."""

ROUND: Final = RecordKind("round")
"""When the provisioners last ran each periodic task."""

USER: Final = RecordKind("user", keys=("email", "last_seen"))
"""The id is the subject of the user's tokens."""

ROLE: Final = RecordKind(
    "role",
    keys=("organization", "name"),
    unique=(("organization", "name"),),
    indexes=(("organization", "id"),),
)
"""Custom roles only; the id is `<organization>/<role>`. The built-in ones are in `catalogue`."""

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

`place` is type of scope (with the project, if it is a resource) and principal: the roles of a
principal at many scopes are one look-up too. NOTE: with two keys, the query planner might choose
the less selective index.
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
"""Ids of deleted organizations and projects, which are never reused."""

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
"""The paid time of a resource, with its skus. `ended` is the largest integer until it ends."""

BILLING_USAGE: Final = RecordKind("billing_usage", keys=("span", "day"), indexes=(("span", "day"),))
"""The measurements of a resource in one day (UTC; the number of the day since the epoch)."""

BILLING_CLOSING: Final = RecordKind("billing_closing")
"""One record: the last closed month."""

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
"""Whether the billing provider has a final statement, by the statement's id."""

RECORD_KINDS: Final = (
    ORGANIZATION,
    PROJECT,
    RESOURCE,
    OPERATION,
    RECONCILE_ITEMS,
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
