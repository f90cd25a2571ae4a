"""The interface of resource types, which a provisioner of the control plane brings up and down.

The provisioner calls the handlers under a lease.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError

from twinframe.errors import (
    ErrorDetail,
    InvalidArgument,
    PluginError,
    TwinframeError,
    ValidationFailed,
)
from twinframe.errors.nearest import render_hint
from twinframe.hooks.resource_types.hosting import GraphHost, ResourceName
from twinframe.hooks.resource_types.prices import Price, Sku
from twinframe.hooks.resource_types.quotas import QuotaLimit
from twinframe.model.values import JsonValue
from twinframe.runtime.leases import LeaseLost as LeaseLost


class ProvisionFailed(TwinframeError):
    """The resource cannot be brought into the wanted state; the message is for its owner.

    `final`: another attempt would not help. Any other error of a handler is retried.
    """

    code = "ProvisionFailed"

    def __init__(self, message: str, *, final: bool = False) -> None:
        super().__init__(message)
        self.final = final


class ResourceSettings(BaseModel):
    """Base of a type's `settings_json`: known keys are typed and bounded, unknown keys are kept."""

    model_config = ConfigDict(
        frozen=True, extra="allow", strict=True, allow_inf_nan=False, protected_namespaces=()
    )


@dataclass(frozen=True, slots=True)
class Provisioned:
    """A resource that is up: its address, if any, and the note for its operation."""

    access_url: str | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class ProvisionContext:
    """The input of a handler: the resource in its wanted state, and the attempt it is called for.

    `settings_json` is the text as given and `settings` the document in it. `fence` rises with each
    attempt at this resource; `operation_id` is the same for all attempts of an operation. `limits`
    are those of the sku by the price list in force, the operator's or the type's own.

    Await `step` with a name after each external effect: it raises `LeaseLost` when the handler must
    not continue, and is where the test kit interrupts it.
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
        """Return the host of graphs. Raises `ProvisionFailed` if the provisioner has none."""
        if self.graphs is None:
            raise ProvisionFailed("This provisioner hosts no graphs.")
        return self.graphs


IsAlive = Callable[[ResourceName], Awaitable[bool]]
"""Whether the resource must be kept: unless the control plane knows that it has ended."""


class ResourceType(ABC):
    """One kind of resource. `name` is its wire name, such as `Platform.Graph`.

    Handlers are called at least once, in any state that an interrupted earlier call left, and must
    reach the same result. A type without handlers is a record that counts as running.

    A handler may be cancelled at any await, at a timeout or when a deletion comes; it ends only
    when everything it has begun has ended too: `run_blocking` ensures that for calls in threads.
    """

    name: ClassVar[str]
    settings_model: ClassVar[type[ResourceSettings]] = ResourceSettings

    async def provision(self, context: ProvisionContext) -> Provisioned:
        """Bring the resource up, or its missing parts. Called for repairs too."""
        return Provisioned()

    async def update(self, context: ProvisionContext) -> Provisioned:
        """Bring it into the wanted state, from an earlier one or from nothing."""
        return await self.provision(context)

    async def deprovision(self, context: ProvisionContext) -> None:  # noqa: B027  (most hold nothing)
        """Take everything down; without effect when nothing exists."""

    async def health(self, context: ProvisionContext) -> str | None:
        """Return the fault of a running resource, which is then repaired; None if there is none."""
        return None

    async def remove_orphans(
        self,
        graphs: GraphHost | None,
        is_alive: IsAlive,
    ) -> Sequence[ResourceName]:
        """Remove what belongs to ended resources; return what was removed. Called periodically.

        List what exists first and call `is_alive` afterwards, so that resources being created are
        kept.
        """
        return ()

    def prices(self) -> Sequence[Price]:
        """Return the price list; by default everything is free."""
        return ()

    def quotas(self) -> Sequence[QuotaLimit]:
        """Return the limits of each sku; by default there are none."""
        return ()

    def check_change(
        self,
        before: ResourceSettings,
        after: ResourceSettings,
    ) -> None:
        """Raise `ValidationFailed` for settings that cannot be changed to the others."""
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


class ResourceTypeRegistry:
    """Finds a type by its wire name. Two types of one name are refused."""

    def __init__(self, types: Iterable[ResourceType]) -> None:
        """Raises `PluginError` naming both classes when a name is taken twice."""
        self._types: dict[str, ResourceType] = {}
        for item in types:
            taken = self._types.setdefault(item.name, item)
            if taken is not item:
                raise PluginError(
                    f"The resource type {item.name} is brought by {_render_class(taken)} and by "
                    f"{_render_class(item)}. Uninstall the plugin of one of them."
                )

    def find(self, name: str) -> ResourceType:
        """Return the type of this name. Raises `InvalidArgument` with the nearest known name."""
        if (found := self._types.get(name)) is not None:
            return found
        hint = render_hint(name, self._types)
        raise InvalidArgument(f"There is no resource type {name!r}. {hint}")

    def __iter__(self) -> Iterator[ResourceType]:
        return iter(self._types.values())


def _render_class(item: ResourceType) -> str:
    return f"{type(item).__module__}.{type(item).__qualname__}"
