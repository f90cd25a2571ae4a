"""The seam to whoever collects the money, and the built-in provider `manual`. It computes nothing.

A provider is called after what it is told of is kept, at least once, and always with the same key
for the same thing: it must let the second call change nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points
from typing import ClassVar, Final

from twinframe.control.billing.accounts import BillingAccount
from twinframe.errors import ConfigurationError, PluginError, TwinframeError

GROUP: Final = "twinframe.billing_provider"
"""The entry points whose classes, made without arguments, are providers."""


class BillingProviderFailed(TwinframeError):
    """The provider did not take what it was given; it is given again later."""

    code = "BillingProviderFailed"


class BillingProvider(ABC):
    """Collects what statements say. `name` is what `Billing__Provider` calls it."""

    name: ClassVar[str]

    @abstractmethod
    async def open_account(self, account: BillingAccount, key: str) -> str:
        """Make the account known; what the provider calls it. Raises `BillingProviderFailed`."""

    @abstractmethod
    async def send(self, account: BillingAccount, statement: bytes, key: str) -> str:
        """Take a final statement; what the provider calls it. Raises `BillingProviderFailed`.

        `account.reference` is what `open_account` gave, `statement` the JSON text.
        """


class ManualProvider(BillingProvider):
    """The operator reads the statements and sends bills: nothing leaves the control plane."""

    name = "manual"

    async def open_account(self, account: BillingAccount, key: str) -> str:
        """The account's own id."""
        return account.id

    async def send(self, account: BillingAccount, statement: bytes, key: str) -> str:
        """The statement's own id."""
        return key


class ProviderRegistry:
    """The providers of an installation by name, `manual` always among them."""

    def __init__(self, providers: Iterable[BillingProvider] = ()) -> None:
        """`ConfigurationError` when two have one name."""
        self._providers: dict[str, BillingProvider] = {}
        for each in (ManualProvider(), *providers):
            if each.name in self._providers:
                raise ConfigurationError(f"There are two billing providers named {each.name!r}.")
            self._providers[each.name] = each

    def find(self, name: str) -> BillingProvider:
        """The provider of this name. `ConfigurationError` with the nearest known name."""
        if (found := self._providers.get(name)) is not None:
            return found
        near = get_close_matches(name, self._providers, n=1)
        hint = f"Did you mean {near[0]}?" if near else f"Known: {', '.join(self._providers)}."
        raise ConfigurationError(f"Billing__Provider: there is no provider {name!r}. {hint}")


def load_providers(points: Iterable[EntryPoint] | None = None) -> ProviderRegistry:
    """The providers of all installed distributions.

    Raises `PluginError` naming the distribution of one that fails to load or is none.
    """
    found = entry_points(group=GROUP) if points is None else points
    return ProviderRegistry([_load(point) for point in found])


def _load(point: EntryPoint) -> BillingProvider:
    owner = "an unknown distribution" if point.dist is None else point.dist.name
    place = f"The billing provider {point.name!r} of {owner}"
    try:
        kind = point.load()
        provider = kind()
    except Exception as error:  # code of somebody else, before anything is served
        raise PluginError(f"{place} does not load: {error!r}. Repair or uninstall it.") from error
    if not isinstance(provider, BillingProvider):
        raise PluginError(f"{place} is no BillingProvider but {kind!r}.")
    return provider
