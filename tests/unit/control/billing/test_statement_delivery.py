"""Final statements go to the provider of their account until it took them, under one key."""

from __future__ import annotations

import asyncio
from importlib.metadata import EntryPoint

import pytest

from tests.unit.control.billing.billing_world import BillingWorld, moment
from tests.unit.control.tenants.access_world import ACME, ANN, run
from twinframe.control.billing.accounts import BillingAccount, read_account
from twinframe.control.billing.billing import Billing
from twinframe.control.billing.months import Month
from twinframe.control.billing.providers import (
    GROUP,
    BillingProvider,
    BillingProviderFailed,
    ManualProvider,
    ProviderRegistry,
    load_providers,
)
from twinframe.control.billing.rounds import StatementDelivery
from twinframe.errors import ConfigurationError, ControlNotFound, PluginError

FEBRUARY = Month(2024, 2)


class Bank(BillingProvider):
    """Takes each key once; fails or dies as often as it is told."""

    name = "bank"

    def __init__(self) -> None:
        self.failures: list[BaseException] = []
        self.opened: dict[str, str] = {}
        self.taken: dict[str, bytes] = {}
        self.calls: list[str] = []

    async def open_account(self, account: BillingAccount, key: str) -> str:
        self.calls.append(f"open {key}")
        return self.opened.setdefault(key, f"customer-{len(self.opened)}")

    async def send(self, account: BillingAccount, statement: bytes, key: str) -> str:
        self.calls.append(f"send {key} to {account.reference}")
        self.taken.setdefault(key, statement)
        assert self.taken[key] == statement
        if self.failures:
            raise self.failures.pop(0)
        return f"invoice-{key}"


@pytest.fixture
def bank() -> Bank:
    return Bank()


@pytest.fixture
def world(bank: Bank) -> BillingWorld:
    found = BillingWorld()
    found.providers = ProviderRegistry([bank])
    found.billing = Billing(
        found.context, found.offers, currency="EUR", providers=found.providers, provider="bank"
    )
    return found


def test_a_statement_is_delivered_once(world: BillingWorld, bank: Bank) -> None:
    account = world.open(ACME)
    world.now = moment(2024, 3, 2)
    world.settle()
    assert world.deliver() == 1
    assert world.deliver() == 0
    key = f"{account.id}.2024-02"
    assert bank.calls == [f"open {account.id}", f"send {key} to customer-0"]
    assert bank.taken[key] == world.statement(account, FEBRUARY).body
    found = run(world.billing.read_delivery(ANN, account.id, FEBRUARY))
    assert (found.state, found.reference, found.attempts) == ("delivered", f"invoice-{key}", 1)


def test_a_provider_that_fails_gets_the_statement_again(world: BillingWorld, bank: Bank) -> None:
    account = world.open(ACME)
    world.now = moment(2024, 3, 2)
    world.settle()
    bank.failures = [BillingProviderFailed("closed today"), OSError("no route")]
    assert [world.deliver(), world.deliver(), world.deliver()] == [0, 0, 1]
    assert len(bank.opened) == 1
    found = run(world.billing.read_delivery(ANN, account.id, FEBRUARY))
    assert (found.state, found.attempts, found.error) == ("delivered", 3, "")


def test_the_failure_is_shown_until_it_is_delivered(world: BillingWorld, bank: Bank) -> None:
    account = world.open(ACME)
    world.now = moment(2024, 3, 2)
    world.settle()
    bank.failures = [BillingProviderFailed("closed today")]
    world.deliver()
    found = run(world.billing.read_delivery(ANN, account.id, FEBRUARY))
    assert (found.state, found.error) == ("pending", "closed today")


def test_who_dies_after_the_call_leaves_the_same_key_to_the_next(
    world: BillingWorld, bank: Bank
) -> None:
    world.open(ACME)
    world.now = moment(2024, 3, 2)
    world.settle()
    bank.failures = [KeyboardInterrupt()]  # the provider took it; nobody could note that
    with pytest.raises(KeyboardInterrupt):
        world.deliver()
    assert world.deliver() == 1
    assert len(bank.taken) == 1
    assert len(bank.opened) == 1


def test_one_statement_that_fails_does_not_hold_up_the_others(
    world: BillingWorld, bank: Bank
) -> None:
    world.open(ACME)
    world.now = moment(2024, 4, 2)
    world.settle()
    bank.failures = [BillingProviderFailed("closed")]
    assert world.deliver() == 1


def test_a_provider_with_a_mistake_in_it_ends_nothing(
    world: BillingWorld, bank: Bank, caplog: pytest.LogCaptureFixture
) -> None:
    account = world.open(ACME)
    world.now = moment(2024, 4, 2)
    world.settle()
    bank.failures = [KeyError("token=secret")]
    assert world.deliver() == 1  # the other month
    found = run(world.billing.read_delivery(ANN, account.id, FEBRUARY))
    assert (found.state, found.attempts) == ("pending", 1)
    assert found.error == "The billing provider failed unexpectedly; see the log."
    assert "token=secret" in caplog.text
    assert world.deliver() == 1


def test_a_provider_that_hangs_is_asked_again_later(world: BillingWorld, bank: Bank) -> None:
    account = world.open(ACME)
    world.now = moment(2024, 3, 2)
    world.settle()

    class Hanging(Bank):
        async def send(self, account: BillingAccount, statement: bytes, key: str) -> str:
            await asyncio.sleep(60)
            return await super().send(account, statement, key)

    hanging = StatementDelivery(world.runner_, ProviderRegistry([Hanging()]), longest=0.01)
    assert asyncio.run(hanging.deliver_due()) == 0
    found = run(world.billing.read_delivery(ANN, account.id, FEBRUARY))
    assert (found.state, "took more than" in found.error) == ("pending", True)


def test_a_draft_is_not_delivered(world: BillingWorld, bank: Bank) -> None:
    account = world.open(ACME)
    world.now = moment(2024, 2, 20)
    world.settle()
    assert world.deliver() == 0
    assert bank.calls == []
    with pytest.raises(ControlNotFound, match="final statement"):
        run(world.billing.read_delivery(ANN, account.id, FEBRUARY))


def test_the_manual_provider_takes_everything_and_tells_nobody() -> None:
    world = BillingWorld()
    account = world.open(ACME)
    world.now = moment(2024, 3, 2)
    world.settle()
    assert world.deliver() == 1
    session = world.store.session()
    assert read_account(session, account.id).reference == account.id
    found = run(world.billing.read_delivery(ANN, account.id, FEBRUARY))
    assert found.reference == f"{account.id}.2024-02"


def test_installed_providers_are_found_by_their_entry_points() -> None:
    point = EntryPoint("bank", f"{__name__}:Bank", GROUP)
    assert load_providers([point]).find("bank").name == "bank"
    assert load_providers([]).find("manual").name == "manual"
    with pytest.raises(ConfigurationError, match="Did you mean bank"):
        load_providers([point]).find("bnk")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("no_such_module_here:Bank", "'bank' of an unknown distribution does not load"),
        (f"{__name__}:BillingWorld", "is no BillingProvider"),
        (f"{__name__}:BillingProvider", "does not load"),
    ],
)
def test_a_provider_that_cannot_be_used_stops_the_start(value: str, message: str) -> None:
    with pytest.raises(PluginError, match=message):
        load_providers([EntryPoint("bank", value, GROUP)])


def test_two_providers_of_one_name_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="two billing providers named 'manual'"):
        ProviderRegistry([ManualProvider()])
