"""The resource-type seam: what the control plane can offer, and how it comes up and goes down.

It runs nothing itself: the control plane's provisioner calls the handlers, under a lease.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError

from twinframe.errors import ErrorDetail, TwinframeError, ValidationFailed
from twinframe.model.values import JsonValue
from twinframe.resourcetypes.hosting import GraphHost, ResourceName
from twinframe.resourcetypes.prices import Price, Sku
from twinframe.resourcetypes.quotas import QuotaLimit


class ProvisionFailed(TwinframeError):
    """The resource cannot be brought into the wanted state; the message is for its owner.

    `final`: another attempt would not help. Any other error of a handler is tried again.
    """

    code = "ProvisionFailed"

    def __init__(self, message: str, *, final: bool = False) -> None:
        super().__init__(message)
        self.final = final


class LeaseLost(TwinframeError):
    """Somebody else works on the resource, or it shall become something else meanwhile.

    Handlers let it pass: nothing they would write now counts.
    """

    code = "LeaseLost"


class ResourceSettings(BaseModel):
    """Base of a type's `settings_json`: known keys are typed and bounded, unknown keys are kept."""

    model_config = ConfigDict(
        frozen=True, extra="allow", strict=True, allow_inf_nan=False, protected_namespaces=()
    )


@dataclass(frozen=True, slots=True)
class Provisioned:
    """A resource that is up: where it answers, if anywhere, and what its operation shall note."""

    access_url: str | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class ProvisionContext:
    """What a handler gets: the resource as it shall be, and the attempt it is called for.

    `settings_json` is the text as given and `settings` the document in it. `fence` rises with each
    attempt at this resource; `operation_id` is one and the same for all attempts of an operation.
    `limits` are what the sku allows by the price list in force, the operator's or the type's own.

    Await `step` with a name after each effect outside: it raises `LeaseLost` when the handler must
    not go on, and is where the test kit pulls the plug.
    """

    name: ResourceName
    project_id: str
    title: str
    sku: Sku
    settings_json: str
    settings: Mapping[str, JsonValue]
    operation_id: str
    attempt: int
    fence: int
    step: Callable[[str], Awaitable[None]]
    graphs: GraphHost | None = None
    limits: tuple[QuotaLimit, ...] = ()

    @property
    def hosts_graphs(self) -> GraphHost:
        """The host of graphs. Raises `ProvisionFailed` where the provisioner has none."""
        if self.graphs is None:
            raise ProvisionFailed("This provisioner hosts no graphs.")
        return self.graphs


IsAlive = Callable[[ResourceName], Awaitable[bool]]
"""Whether the resource must be left alone: unless the control plane knows that it has ended."""


class ResourceType(ABC):
    """One kind of resource. `name` is its wire name, such as `Platform.Graph`.

    Handlers are called at least once, from whatever state an earlier call left when it was cut off
    at any point, and must come to the same end. Without handlers a type is a record that runs.

    A handler may be cancelled at any await, at a timeout or when a deletion comes; it ends only
    when all it has begun has ended too: `run_blocking` sees to that for calls in threads.
    """

    name: ClassVar[str]
    settings_model: ClassVar[type[ResourceSettings]] = ResourceSettings

    async def provision(self, context: ProvisionContext) -> Provisioned:
        """Bring the resource up, or what of it is missing. Called for repairs too."""
        return Provisioned()

    async def update(self, context: ProvisionContext) -> Provisioned:
        """Bring it into the wanted state, from an earlier one or from nothing."""
        return await self.provision(context)

    async def deprovision(self, context: ProvisionContext) -> None:  # noqa: B027  (most hold nothing)
        """Take everything down; without effect when nothing is there."""

    async def health(self, context: ProvisionContext) -> str | None:
        """What is amiss with a running resource, which is repaired then; None if nothing."""
        return None

    async def remove_orphans(
        self,
        graphs: GraphHost | None,
        is_alive: IsAlive,
    ) -> Sequence[ResourceName]:
        """Remove what belongs to resources that have ended; what was removed. Called now and then.

        List what is there first and ask `is_alive` after, so that what is coming up stays.
        """
        return ()

    def prices(self) -> Sequence[Price]:
        """The price list; nothing costs anything unless told."""
        return ()

    def quotas(self) -> Sequence[QuotaLimit]:
        """What each sku allows; nothing is limited unless told."""
        return ()

    def check_change(
        self,
        before: ResourceSettings,
        after: ResourceSettings,
    ) -> None:
        """Raise `ValidationFailed` for settings that cannot become the others."""
        return

    def parse_settings(self, document: Mapping[str, JsonValue]) -> ResourceSettings:
        """Check a resource's settings. Raises `ValidationFailed` with one entry a wrong key."""
        try:
            return self.settings_model.model_validate(document)
        except ValidationError as error:
            findings = error.errors(include_url=False)
            raise ValidationFailed(
                f"The settings of this {self.name} are not valid.",
                details=tuple(
                    ErrorDetail(
                        "InvalidSetting",
                        f"{'.'.join(str(part) for part in finding['loc'])}: {finding['msg']}.",
                    )
                    for finding in findings
                ),
            ) from error
