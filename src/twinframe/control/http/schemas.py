"""Pydantic shapes of the control plane's bodies, for request validation and the OpenAPI document.

Resource bodies are validated by `control.resources.requests`; their shapes here only describe them.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from twinframe.control.http.requests import Form
from twinframe.control.records.scopes import ScopeType
from twinframe.control.records.states import ResourceState
from twinframe.control.resources.documents import Goal, OperationStatus
from twinframe.hooks.resource_types.prices import Meter, Sku
from twinframe.hooks.resource_types.quotas import Quota

Moment = str
"""ISO 8601 in UTC with Z."""


class ErrorBody(BaseModel):
    """Any error. With 400 alone `findings` has one text a finding, and `details` all of them."""

    error: str
    details: str = ""
    findings: list[str] = Field(default_factory=list)


class Page(BaseModel):
    """What every listing has: where it begins, its greatest length, and how many there are."""

    total: int
    limit: int
    offset: int


class OrganizationForm(Form):
    """A new organization; without an id one is made."""

    id: str | None = None
    name: str


class RenameForm(Form):
    """What can be changed."""

    name: str


class Organization(BaseModel):
    """A tenant."""

    organization_id: str
    name: str
    created_at: Moment
    updated_at: Moment


class OrganizationList(Page):
    """Organizations by id."""

    organizations: list[Organization]


class ProjectForm(Form):
    """A new project; without an id one is made."""

    id: str | None = None
    organization_id: str
    name: str


class Project(BaseModel):
    """What resources lie in."""

    project_id: str
    organization_id: str
    name: str
    created_at: Moment
    updated_at: Moment


class ProjectList(Page):
    """Projects by id."""

    projects: list[Project]


class ResourceForm(BaseModel):
    """A new resource."""

    id: str = Field(pattern="^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")
    name: str
    type: str = Field(examples=["Platform.Graph"])
    sku: Sku = Sku.FREE
    settings_json: JsonValue = Field(
        default_factory=dict, description="An object, or a text that holds one; kept as given."
    )


class ResourceChangeForm(BaseModel):
    """What can be changed; what is left out stays."""

    name: str | None = None
    sku: Sku | None = None
    settings_json: JsonValue = None


class Resource(BaseModel):
    """A resource. `error_message` with status `error` alone; no `access_url` after a change."""

    resource_id: str
    project_id: str
    name: str
    type: str
    sku: Sku
    status: ResourceState
    settings_json: JsonValue
    created_at: Moment
    updated_at: Moment
    error_message: str = ""
    access_url: str = ""


class ResourceList(Page):
    """Resources by id."""

    resources: list[Resource]


class Deletion(BaseModel):
    """The deletion has begun."""

    message: str
    resource_id: str
    status: ResourceState


class OperationTransition(BaseModel):
    """A change of state and its reason."""

    at: Moment
    from_: ResourceState | None = Field(alias="from")
    to: ResourceState
    reason: str


class OperationAttempt(BaseModel):
    """An attempt that came to an end."""

    number: int
    at: Moment
    outcome: str


class Operation(BaseModel):
    """What was asked of a resource, and what became of it."""

    operation_id: str
    resource_id: str
    type: Goal
    status: OperationStatus
    requested_by: str
    created_at: Moment
    updated_at: Moment
    note: str
    transitions: list[OperationTransition]
    attempts: list[OperationAttempt]


class OperationList(Page):
    """Operations, the latest first."""

    operations: list[Operation]


class User(BaseModel):
    """Somebody who called, by the subject of their tokens."""

    user_id: str
    email: str | None
    kind: Literal["user", "service", "operator"]
    first_seen_at: Moment
    last_seen_at: Moment


class UserList(Page):
    """Users by id."""

    users: list[User]


class RoleForm(Form):
    """A new custom role; without an id one is made."""

    id: str | None = None
    name: str
    permissions: list[str]


class RoleChangeForm(Form):
    """What can be changed; what is left out stays."""

    name: str | None = None
    permissions: list[str] | None = None


class Role(BaseModel):
    """A set of permissions. The built-in ones belong to no organization."""

    role_id: str
    organization_id: str | None
    name: str
    permissions: list[str]
    built_in: bool
    description: str | None
    created_at: Moment | None
    updated_at: Moment | None


class RoleList(Page):
    """Roles by id."""

    roles: list[Role]


class AssignmentForm(Form):
    """Give a role: to the subject of somebody's tokens, or to whoever first shows an email."""

    role_id: str
    user_id: str | None = None
    email: str | None = None
    expires_at: Moment | None = None


class AssignmentChangeForm(Form):
    """The other expiry; null is never."""

    expires_at: Moment | None


class Assignment(BaseModel):
    """Who holds which role where. `user_id` or `email` is null."""

    assignment_id: str
    scope_type: ScopeType
    scope_id: str
    role_id: str
    user_id: str | None
    email: str | None
    expires_at: Moment | None
    created_at: Moment
    created_by: str


class AssignmentList(Page):
    """Assignments by id."""

    role_assignments: list[Assignment]


class Permissions(BaseModel):
    """The permissions held, as grants; a grant that ends with `/*` covers all below it."""

    permissions: list[str]


class AuditEntry(BaseModel):
    """One change. `position` grows with each."""

    position: int
    at: Moment
    actor: str
    actor_email: str | None
    actor_kind: Literal["user", "service", "operator"]
    request_id: str
    action: str
    target: str
    organization_id: str | None
    project_id: str | None
    before: dict[str, Any] | None
    after: dict[str, Any] | None


class AuditList(Page):
    """Entries, the newest first."""

    entries: list[AuditEntry]


class Price(BaseModel):
    """`amount` minor units for each `per` units of the meter beyond the `included` ones."""

    type: str
    sku: Sku
    meter: Meter
    unit: str
    amount: int
    per: int
    included: int


class PriceList(BaseModel):
    """A price list; `currency` is a code of ISO 4217."""

    currency: str
    published_at: Moment
    prices: list[Price]


class AccountForm(BaseModel):
    """What a billing account says. `details`: what a bill must show, such as an address."""

    model_config = ConfigDict(extra="forbid")

    name: str
    email: str
    details: dict[str, str] = Field(default_factory=dict)


class Account(BaseModel):
    """A billing account. Of an inherited one that the caller may not read, the texts are empty."""

    account_id: str
    scope_type: Literal["organization", "project"]
    scope_id: str
    name: str
    email: str
    details: dict[str, str]
    provider: str
    status: Literal["open", "closed"]
    created_at: Moment
    updated_at: Moment
    closed_at: Moment = ""


class AccountList(Page):
    """Accounts by id."""

    billing_accounts: list[Account]


class Payer(BaseModel):
    """Who pays for a project; null is nobody."""

    billing_account: Account | None


class StatementList(Page):
    """Final statements, the latest first."""

    statements: list[dict[str, Any]]


class StatementDelivery(BaseModel):
    """Whether the billing provider has a final statement."""

    statement_id: str
    state: Literal["pending", "delivered"]
    attempts: int
    reference: str | None
    error: str | None


class UsageSample(BaseModel):
    """What was measured: levels at a moment, and what was counted in the period."""

    at: Moment
    from_: Moment = Field(alias="from")
    to: Moment
    twins: int
    storage_bytes: int
    operations: int
    query_charge: int


class Usage(BaseModel):
    """The samples of a month, in order."""

    month: str
    samples: list[UsageSample]


class QuotaState(BaseModel):
    """A limit and what is used of it; null was not measured."""

    quota: Quota
    limit: int
    used: int | None


class Quotas(BaseModel):
    """The limits of a resource."""

    quotas: list[QuotaState]
