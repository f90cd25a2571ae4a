"""The interface of billing providers, which collect the money, and the built-in provider `manual`.

A provider is called after its input was stored, at least once, and always with the same key for the
same object: a repeated call must change nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from typing import ClassVar, Final

from twinframe.control.billing.accounts import BillingAccount
from twinframe.errors import ConfigurationError, PluginError, TwinframeError
from twinframe.errors.nearest import render_hint

GROUP: Final = "twinframe.billing_provider"
"""The entry points whose classes, called without arguments, are providers."""


class BillingProviderFailed(TwinframeError):
    """The provider refused its input, which is sent again later."""

    code = "BillingProviderFailed"


class BillingProvider(ABC):
    """Collects the amounts of statements. `name` is its name in `Billing__Provider`."""

    name: ClassVar[str]

    @abstractmethod
    async def open_account(self, account: BillingAccount, key: str) -> str:
        """Register the account; return the provider's id for it. Raises `BillingProviderFailed`."""

    @abstractmethod
    async def send(self, account: BillingAccount, statement: bytes, key: str) -> str:
        """Accept a final statement; return the provider's id for it. Raises
        `BillingProviderFailed`.

        `account.reference` is the result of `open_account`, `statement` the JSON text.
        """


class ManualProvider(BillingProvider):
    """Sends nothing: the operator reads the statements and writes the bills."""

    name = "manual"

    async def open_account(self, account: BillingAccount, key: str) -> str:
        """Return the account's own id."""
        return account.id

    async def send(self, account: BillingAccount, statement: bytes, key: str) -> str:
        """Return the statement's own id."""
        return key


class ProviderRegistry:
    """The providers of an installation by name, always including `manual`."""

    def __init__(self, providers: Iterable[BillingProvider] = ()) -> None:
        """Raises `ConfigurationError` when two have one name."""
        self._providers: dict[str, BillingProvider] = {}
        for each in (ManualProvider(), *providers):
            if each.name in self._providers:
                raise ConfigurationError(f"There are two billing providers named {each.name!r}.")
            self._providers[each.name] = each

    def find(self, name: str) -> BillingProvider:
        """Return the provider of this name.

        Raises `ConfigurationError` with the nearest known name.
        """
        if (found := self._providers.get(name)) is not None:
            return found
        hint = render_hint(name, self._providers)
        raise ConfigurationError(f"Billing__Provider: there is no provider {name!r}. {hint}")


def load_providers(points: Iterable[EntryPoint] | None = None) -> ProviderRegistry:
    """Load the providers of all installed distributions.

    Raises `PluginError` naming the distribution of one that fails to load or is no provider.
    """
    found = entry_points(group=GROUP) if points is None else points
    return ProviderRegistry([_load(point) for point in found])


def _load(point: EntryPoint) -> BillingProvider:
    owner = "an unknown distribution" if point.dist is None else point.dist.name
    place = f"The billing provider {point.name!r} of {owner}"
    try:
        kind = point.load()
        provider = kind()
    except Exception as error:  # third-party code, before anything is served
        raise PluginError(f"{place} does not load: {error!r}. Repair or uninstall it.") from error
    if not isinstance(provider, BillingProvider):
        raise PluginError(f"{place} is no BillingProvider but {kind!r}.")
    return provider
