"""Statements: lines that add up, drafts that become final, and finals that never change."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.control.billing.billing_world import HOUR, BillingWorld, Boat, moment
from tests.unit.control.tenants.access_world import ACME, ANN, CAMPUS, SECOND, run
from twinframe.control.billing.closing import close_month, find_closed
from twinframe.control.billing.months import DAY, Month
from twinframe.control.billing.offers import build_offers
from twinframe.control.billing.prices import publish_prices
from twinframe.control.billing.spans import SPANS, follow_resource
from twinframe.control.billing.usage import Sample, Usage, record_sample
from twinframe.control.records.listing import Slice
from twinframe.control.records.scopes import Scope
from twinframe.control.records.states import ResourceState
from twinframe.errors import QuotaExceeded
from twinframe.hooks.installation import load_installation
from twinframe.hooks.resource_types.prices import Meter, Price, Sku

FEBRUARY = Month(2024, 2)
MARCH = Month(2024, 3)


@pytest.fixture
def world() -> BillingWorld:
    return BillingWorld()


def _refuse_float(text: str) -> NoReturn:
    raise AssertionError(f"a statement has the float {text}")


def _read(body: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(body, parse_float=_refuse_float)
    return found


def _check(statement: dict[str, Any]) -> None:
    """All figures follow from the statement alone, and add up."""
    items = statement["line_items"]
    assert statement["total"] == sum(item["amount"] for item in items)
    for item in items:
        assert item["billable"] == max(0, item["quantity"] - item["included"])
        scale = statement["month_seconds"] if "second" in item["unit"] else 1
        exact = Fraction(item["price"]["amount"] * item["billable"], item["price"]["per"] * scale)
        assert abs(item["amount"] - exact) <= Fraction(1, 2)
        assert item.get("measured_seconds", 0) <= item["seconds"] <= statement["month_seconds"]


def test_a_resource_that_was_there_all_the_leap_month_pays_the_whole_fee(
    world: BillingWorld,
) -> None:
    account = world.open(ACME)
    world.bring_up("boat")
    world.now = moment(2024, 3, 1, 1)
    assert world.settle() == 1
    found = _read(world.statement(account, FEBRUARY).body)
    _check(found)
    assert found["month_seconds"] == 29 * DAY
    assert (found["status"], found["currency"], found["total"]) == ("final", "EUR", 31_00)
    assert found["until"] == "2024-03-01T00:00:00.000000Z"
    fee = found["line_items"][0]
    assert (fee["meter"], fee["seconds"], fee["amount"]) == ("month", 29 * DAY, 31_00)


def test_a_fee_is_for_the_time_from_running_to_the_call_that_deletes(world: BillingWorld) -> None:
    account = world.open(ACME)
    world.now = moment(2024, 2, 11)
    resource = world.bring_up("boat")
    world.now = moment(2024, 2, 20, 12)
    world.take_down(resource)
    found = _read(world.statement(account, FEBRUARY).body)
    assert found["line_items"][0]["seconds"] == 9 * DAY + DAY // 2
    assert found["line_items"][0]["amount"] == 1_016  # 3100 * 9.5 / 29 is 1015.52


def test_a_change_of_the_sku_splits_the_month(world: BillingWorld) -> None:
    account = world.open(ACME)
    resource = world.bring_up("boat")
    world.now = moment(2024, 2, 11)
    resource = world.change_sku(resource, Sku.ENTERPRISE)
    world.now = moment(2024, 2, 21)
    world.change_sku(resource, Sku.PRO)
    world.now = moment(2024, 3, 2)
    world.settle()
    found = _read(world.statement(account, FEBRUARY).body)
    _check(found)
    fees = {item["sku"]: item for item in found["line_items"] if item["meter"] == "month"}
    assert fees["pro"]["seconds"] == 19 * DAY
    assert fees["enterprise"]["seconds"] == 10 * DAY
    assert fees["pro"]["amount"] + fees["enterprise"]["amount"] == 2_031 + 10_690


def test_a_draft_grows_and_becomes_final_when_the_month_is_over_and_settled(
    world: BillingWorld,
) -> None:
    account = world.open(ACME)
    world.bring_up("boat")
    totals = []
    for day in (2, 10, 29):
        world.now = moment(2024, 2, day)
        assert world.settle() == 0
        draft = world.statement(account, FEBRUARY)
        assert world.statement(account, FEBRUARY).body == draft.body
        assert _read(draft.body)["status"] == "draft"
        totals.append(_read(draft.body)["total"])
    assert totals == sorted(set(totals))
    world.now = moment(2024, 3, 1, 0, 59, 59)
    assert world.settle() == 0
    assert _read(world.statement(account, FEBRUARY).body)["status"] == "draft"
    world.now = moment(2024, 3, 1, 1)
    assert world.settle() == 1
    assert _read(world.statement(account, FEBRUARY).body)["status"] == "final"


def test_a_final_statement_has_the_same_bytes_whatever_happens_after(world: BillingWorld) -> None:
    account = world.open(ACME)
    resource = world.bring_up("boat")
    world.meters.shown["boat"] = Usage(3_000, 50_000, 1_234, 5 * 1024**3)
    world.sample()
    world.now = moment(2024, 3, 1, 1)
    world.settle()
    first = world.statement(account, FEBRUARY)
    _check(_read(first.body))
    start = moment(2024, 2, 20) // SECOND
    late = Sample(start, HOUR, start, Usage(9, 99_999, 9, 9))
    assert not run(world.runner.write(lambda work: record_sample(work, "boat.one", late)))
    world.take_down(resource)
    dearer = build_offers([type("Boat", (Boat,), {"prices": lambda _: ()})()])
    run(world.runner.write(lambda work: publish_prices(work, dearer.prices, "USD", world.now)))
    run(world.billing.close_account(ANN, account.id))
    world.now = moment(2024, 5, 5)
    world.settle()
    assert world.statement(account, FEBRUARY).body == first.body


def test_a_final_statement_built_anew_from_its_records_has_the_same_bytes(
    world: BillingWorld,
) -> None:
    account = world.open(ACME)
    world.bring_up("boat")
    world.meters.shown["boat"] = Usage(3_000, 50_000, 1_234, 5 * 1024**3)
    world.sample()
    world.now = moment(2024, 3, 1, 1)
    world.settle()
    first = world.statement(account, FEBRUARY).body
    run(
        world.runner.write(
            lambda work: (
                work.delete("billing_statement", f"{account.id}.2024-02"),
                work.delete("billing_delivery", f"{account.id}.2024-02"),
            )
        )
    )
    world.now = moment(2024, 4, 17)
    assert world.settle() == 2
    assert world.statement(account, FEBRUARY).body == first


def test_settling_twice_or_by_two_changes_nothing(world: BillingWorld) -> None:
    world.open(ACME)
    world.bring_up("boat")
    world.now = moment(2024, 4, 1, 1)
    assert world.settle() == 2  # February and March
    assert world.settle() == 0
    assert len(world.store.session().find("billing_delivery")) == 2


def test_a_provisioner_that_dies_between_closing_and_keeping_leaves_it_to_the_next(
    world: BillingWorld,
) -> None:
    account = world.open(ACME)
    world.bring_up("boat")
    world.now = moment(2024, 3, 1, 1)
    run(world.runner.write(lambda work: close_month(work, FEBRUARY)))
    assert _read(world.statement(account, FEBRUARY).body)["status"] == "final"
    before = world.statement(account, FEBRUARY).body
    assert world.settle() == 1
    assert world.statement(account, FEBRUARY).body == before


def test_a_closed_month_stays_closed_when_a_clock_goes_back(world: BillingWorld) -> None:
    world.now = moment(2024, 4, 1, 1)
    world.settle()
    world.now = moment(2024, 2, 10)
    world.settle()
    assert find_closed(world.store.session()) == MARCH
    world.bring_up("boat")
    span = SPANS.read(world.store.session(), "boat.one")
    assert span is not None
    assert span.interval.begin == MARCH.interval.end
    account = world.open(ACME)
    assert account.interval.begin == MARCH.interval.end


def test_included_quantities_are_prorated_and_the_rest_is_charged(world: BillingWorld) -> None:
    account = world.open(ACME)
    resource = world.bring_up("boat")
    world.meters.shown["boat"] = Usage(0, 12_345, 250, 0)
    world.sample()
    world.now = moment(2024, 2, 15, 12)  # half of the month
    world.take_down(resource)
    found = _read(world.statement(account, FEBRUARY).body)
    _check(found)
    lines = {item["meter"]: item for item in found["line_items"]}
    assert lines["operations"]["included"] == 5_000
    assert lines["operations"]["amount"] == 51  # 7345 * 7 / 1000 is 51.4
    assert lines["query_charge"]["amount"] == 8  # 250 * 3 / 100 is 7.5, and a half goes up


def test_what_was_counted_before_a_month_is_not_charged_in_it_again(world: BillingWorld) -> None:
    account = world.open(ACME)
    world.bring_up("boat")
    world.now = moment(2024, 2, 29, 23, 30)
    world.meters.shown["boat"] = Usage(0, 30_000, 0, 0)
    world.sample()
    world.now = moment(2024, 3, 1, 1)
    world.settle()
    world.meters.shown["boat"] = Usage(0, 50_000, 0, 0)
    world.sample()
    world.now = moment(2024, 4, 1, 1)
    world.settle()
    quantities = [
        item["quantity"]
        for month in (FEBRUARY, MARCH)
        for item in _read(world.statement(account, month).body)["line_items"]
        if item["meter"] == "operations"
    ]
    assert quantities == [30_000, 20_000]


def test_a_deletion_that_takes_days_costs_nothing(world: BillingWorld) -> None:
    account = world.open(ACME)
    resource = replace(world.bring_up("boat"), status=ResourceState.DELETING)
    world.now = moment(2024, 2, 2)
    run(world.runner.write(lambda work: world.watch.on_delete(work, resource)))
    world.now = moment(2024, 2, 20)
    gone = replace(resource, status=ResourceState.TERMINATED)
    run(world.runner.write(lambda work: world.watch.on_gone(work, gone)))
    (fee,) = (
        item
        for item in _read(world.statement(account, FEBRUARY).body)["line_items"]
        if item["meter"] == "month"
    )
    assert fee["seconds"] == DAY


def test_what_never_ran_costs_nothing(world: BillingWorld) -> None:
    account = world.open(ACME)
    resource = world.bring_up("boat")
    for status in (ResourceState.CREATING, ResourceState.ERROR, ResourceState.DELETING):
        other = replace(resource, incarnation="two", status=status)
        run(world.runner.write(lambda work, each=other: follow_resource(work, each, world.now)))
    world.now = moment(2024, 2, 20)
    items = _read(world.statement(account, FEBRUARY).body)["line_items"]
    assert [item["meter"] for item in items].count("month") == 1


def test_what_was_not_measured_is_shown_and_not_charged(world: BillingWorld) -> None:
    account = world.open(ACME)
    world.bring_up("boat")
    world.meters.shown["boat"] = Usage(1_000_000, 0, 0, 0)
    world.sample()
    world.now += 10 * HOUR * SECOND
    world.sample()
    found = _read(world.statement(account, FEBRUARY).body)
    twins = next(item for item in found["line_items"] if item["meter"] == "twins")
    assert twins["seconds"] == 10 * HOUR
    assert twins["measured_seconds"] == HOUR
    assert twins["quantity"] == 1_000_000 * HOUR


def test_a_project_with_an_account_of_its_own_is_on_no_other_bill(world: BillingWorld) -> None:
    whole = world.open(ACME)
    run(world.projects.create(ANN, "acme", "Lab", project_id="lab"))
    world.bring_up("boat")
    world.bring_up("ship", project="lab")
    world.now = moment(2024, 2, 11)
    own = world.open(CAMPUS)
    world.now = moment(2024, 2, 21)
    run(world.billing.close_account(ANN, own.id))
    world.now = moment(2024, 3, 1, 1)
    world.settle()
    seconds = {
        (account.scope_type, item["resource_id"]): item["seconds"]
        for account in (whole, own)
        for item in _read(world.statement(account, FEBRUARY).body)["line_items"]
        if item["meter"] == "month"
    }
    assert seconds == {
        ("organization", "boat"): 19 * DAY,
        ("organization", "ship"): 29 * DAY,
        ("project", "boat"): 10 * DAY,
    }
    world.now = moment(2024, 4, 1, 1)
    world.settle()
    kept = run(world.billing.list_statements(ANN, own.id))
    assert kept.total == 1  # it was closed in February


def test_a_month_is_charged_by_the_prices_in_force_as_it_began(world: BillingWorld) -> None:
    account = world.open(ACME)
    world.bring_up("boat")
    world.now = moment(2024, 2, 10)
    dearer = type("Boat", (Boat,), {"prices": lambda _: (Price(Sku.PRO, Meter.MONTH, 99_00),)})()
    offers = build_offers([dearer])
    run(world.runner.write(lambda work: publish_prices(work, offers.prices, "EUR", world.now)))
    world.now = moment(2024, 4, 1, 1)
    world.settle()
    assert _read(world.statement(account, FEBRUARY).body)["total"] == 31_00
    assert _read(world.statement(account, MARCH).body)["total"] == 99_00


def test_prices_that_did_not_change_are_not_published_again(world: BillingWorld) -> None:
    first = run(world.billing.start())
    world.now += HOUR * SECOND
    assert run(world.billing.start()) == first


def test_quantities_beyond_64_bits_are_stated_exactly(world: BillingWorld) -> None:
    account = world.open(ACME)
    world.bring_up("boat")
    world.meters.shown["boat"] = Usage(0, 0, 0, 2**62)
    world.sample()
    world.now = moment(2024, 3, 1, 1)
    world.settle()
    found = _read(world.statement(account, FEBRUARY).body)
    _check(found)
    stored = next(item for item in found["line_items"] if item["meter"] == "storage_bytes")
    assert stored["quantity"] == 2**62 * HOUR
    assert run(world.billing.list_statements(ANN, account.id)).total == 1


def test_statements_are_listed_from_the_latest_month(world: BillingWorld) -> None:
    account = world.open(ACME)
    world.now = moment(2024, 6, 1, 1)
    world.settle()
    page = run(world.billing.list_statements(ANN, account.id, Slice(2, 1)))
    assert [_read(body)["month"] for body in page.items] == ["2024-04", "2024-03"]
    assert page.total == 4


@pytest.mark.parametrize("name", ["memory", "sqlite"])
def test_a_statement_is_the_same_over_every_store(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    installation = load_installation(environ={"Control__Store": name})
    world = BillingWorld(store=installation.build_control_store())
    monkeypatch.setattr("twinframe.control.billing.billing.build_id", lambda prefix: f"{prefix}-1")
    account = world.open(ACME)
    resource = world.bring_up("boat")
    for hour in range(30):
        world.meters.shown["boat"] = Usage(100 * hour, 1_000 * hour, 7 * hour, 10**9)
        world.sample()
        world.now += HOUR * SECOND
    world.change_sku(resource, Sku.ENTERPRISE)
    world.now = moment(2024, 4, 1, 1)
    assert (world.settle(), world.deliver()) == (2, 2)
    found = _read(world.statement(account, FEBRUARY).body)
    _check(found)
    digest = {(item["sku"], item["meter"]): item["amount"] for item in found["line_items"]}
    assert digest == {
        ("pro", "month"): 134,  # 3100 * 30 / 696 is 133.62
        ("pro", "twins"): 4,  # (43500 - 15000) * 100 / 1000 / 696 is 4.09
        ("pro", "operations"): 200,  # (29000 - 432) * 7 / 1000 is 199.98
        ("pro", "query_charge"): 6,  # 203 * 3 / 100 is 6.09
        ("pro", "storage_bytes"): 2,  # 30e9 * 50 / 2**30 / 696 is 2.007
        ("enterprise", "month"): 29_664,  # 31000 * 666 / 696 is 29663.79
    }
    world.store.close()


@settings(max_examples=25)
@given(
    st.lists(
        st.tuples(
            st.integers(1, 40 * 24),
            st.sampled_from(["up", "down", "sku", "sample", "own", "close", "settle"]),
            st.integers(0, 3),
        ),
        max_size=25,
    )
)
def test_whatever_happens_lines_add_up_and_finals_stay(
    events: list[tuple[int, str, int]],
) -> None:
    world = BillingWorld()
    accounts = [world.open(ACME)]
    running: dict[str, Any] = {}
    finals: dict[str, bytes] = {}
    for number, (hours, event, which) in enumerate(events):
        world.now += hours * HOUR * SECOND
        _do(world, event, which, number, running, accounts)
        for record in world.store.session().find("billing_statement"):
            assert finals.setdefault(record.id, record.body) == record.body
            _check(_read(record.body))
    world.now += 40 * DAY * SECOND
    world.settle()
    paid: dict[tuple[str, str], int] = {}
    for record in world.store.session().find("billing_statement"):
        statement = _read(record.body)
        _check(statement)
        assert finals.setdefault(record.id, record.body) == record.body
        for item in statement["line_items"]:
            if item["meter"] == "month":
                key = (item["resource_id"], statement["month"])
                paid[key] = paid.get(key, 0) + item["seconds"]
    # The organization has had an account all the time: every second is paid for, and once.
    spans = SPANS.parse_all(world.store.session().find(SPANS.kind))
    closed = find_closed(world.store.session())
    assert closed is not None
    wanted = {}
    for span in spans:
        month = FEBRUARY
        while month <= closed:
            seconds = sum(
                held.cut(month.interval).seconds for sku, held in span.list_skus() if sku != "free"
            )
            if seconds:
                wanted[span.resource_id, str(month)] = seconds
            month = month.next()
    assert paid == wanted


def _do(
    world: BillingWorld,
    event: str,
    which: int,
    number: int,
    running: dict[str, Any],
    accounts: list[Any],
) -> None:
    names = sorted(running)
    name = names[which % len(names)] if names else ""
    if event == "up":
        sku = Sku.PRO if which else Sku.ENTERPRISE
        running[f"boat-{number}"] = world.bring_up(f"boat-{number}", sku)
    elif event == "down" and name:
        world.take_down(running.pop(name))
    elif event == "sku" and name:
        with suppress(QuotaExceeded):  # two free ones are allowed
            running[name] = world.change_sku(running[name], list(Sku)[which % 3])
    elif event == "sample":
        for each in names:
            world.meters.shown[each] = Usage(number, 1_000 * number, number, 1024**3)
        world.sample()
    elif event == "own" and len(accounts) == 1:
        accounts.append(world.open(Scope("project", "campus")))
    elif event == "close" and len(accounts) == 2:
        run(world.billing.close_account(ANN, accounts.pop().id))
    elif event == "settle":
        world.settle()
