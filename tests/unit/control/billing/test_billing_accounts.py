"""Billing accounts: who opens, reads and closes them, and who learns nothing of them."""

from __future__ import annotations

import json

import pytest

from tests.unit.control.billing.billing_world import DRAFT, HOUR, BillingWorld
from tests.unit.control.tenants.access_world import (
    ACME,
    ANN,
    BOB,
    CAMPUS,
    EVE,
    GRAPH,
    PLATFORM,
    SECOND,
    run,
)
from twinframe.control.billing.accounts import AccountDraft, build_account_object, parse_account
from twinframe.control.billing.billing import Billing
from twinframe.control.billing.months import Month
from twinframe.control.billing.spans import SPANS
from twinframe.control.records.actors import Actor
from twinframe.control.records.idempotency import parse_request_key
from twinframe.control.records.scopes import Scope
from twinframe.errors import (
    ConfigurationError,
    ControlConflict,
    ControlNotFound,
    InvalidArgument,
    PermissionMissing,
)
from twinframe.hooks.resource_types.prices import Sku

FEBRUARY = Month(2024, 2)


@pytest.fixture
def world() -> BillingWorld:
    found = BillingWorld()
    found.grant(ANN, CAMPUS, "bob", "viewer")
    return found


def test_an_account_is_opened_read_changed_and_closed(world: BillingWorld) -> None:
    account = world.open(ACME)
    assert run(world.billing.read_account(ANN, account.id)) == account
    world.now += SECOND
    changed = run(
        world.billing.update_account(ANN, account.id, AccountDraft("New", "new@acme.example", {}))
    )
    assert (changed.name, changed.email, changed.details) == ("New", "new@acme.example", {})
    closed = run(world.billing.close_account(ANN, account.id))
    shown = build_account_object(closed)
    assert (shown["status"], shown["closed_at"]) == ("closed", "2024-02-01T00:00:01.000000Z")
    world.now += SECOND
    assert run(world.billing.close_account(ANN, account.id)) == closed
    assert run(world.billing.list_accounts(ANN, ACME)) == (closed,)


def test_a_scope_has_one_open_account_and_may_have_another_after_it(world: BillingWorld) -> None:
    first = world.open(ACME)
    with pytest.raises(ControlConflict, match=first.id):
        world.open(ACME)
    world.now += SECOND
    run(world.billing.close_account(ANN, first.id))
    assert world.open(ACME).id != first.id


def test_the_same_request_opens_one_account(world: BillingWorld) -> None:
    key = parse_request_key("k-1", "POST /accounts", b"{}")
    first = run(world.billing.open_account(ANN, ACME, DRAFT, key))
    assert run(world.billing.open_account(ANN, ACME, DRAFT, key)) == first


def test_a_project_without_an_account_is_paid_for_by_its_organization(world: BillingWorld) -> None:
    assert run(world.billing.find_payer(ANN, "campus")) is None
    whole = world.open(ACME)
    assert run(world.billing.find_payer(ANN, "campus")) == whole
    own = world.open(CAMPUS)
    assert run(world.billing.find_payer(ANN, "campus")) == own
    run(world.billing.close_account(ANN, own.id))
    assert run(world.billing.find_payer(ANN, "campus")) == whole


def test_who_may_read_the_project_alone_learns_no_details_of_the_organizations_account(
    world: BillingWorld,
) -> None:
    account = world.open(ACME)
    found = run(world.billing.find_payer(BOB, "campus"))
    assert found is not None
    assert (found.id, found.name, found.email, found.details) == (account.id, "", "", {})
    with pytest.raises(ControlNotFound):
        run(world.billing.read_account(BOB, account.id))


def test_who_may_read_a_bill_may_not_change_the_account(world: BillingWorld) -> None:
    account = world.open(CAMPUS)
    assert run(world.billing.read_account(BOB, account.id)) == account
    assert run(world.billing.read_statement(BOB, account.id, FEBRUARY)).account_id == account.id
    for call in (
        world.billing.update_account(BOB, account.id, DRAFT),
        world.billing.close_account(BOB, account.id),
        world.billing.open_account(BOB, CAMPUS, DRAFT),
    ):
        with pytest.raises(PermissionMissing, match="billing/write"):
            run(call)


def test_an_account_of_others_and_one_that_is_not_there_are_one_error(world: BillingWorld) -> None:
    account = world.open(ACME)

    def refuse(account_id: str) -> set[str]:
        calls = (
            world.billing.read_account(EVE, account_id),
            world.billing.update_account(EVE, account_id, DRAFT),
            world.billing.close_account(EVE, account_id),
            world.billing.read_statement(EVE, account_id, FEBRUARY),
            world.billing.list_statements(EVE, account_id),
            world.billing.read_delivery(EVE, account_id, FEBRUARY),
        )
        texts = set()
        for call in calls:
            with pytest.raises(ControlNotFound) as refused:
                run(call)
            texts.add(refused.value.message.replace(account_id, "ID"))
        return texts

    assert refuse(account.id) == refuse("bill-0000000000000000")
    assert len(refuse(account.id)) == 1


@pytest.mark.parametrize("scope", [PLATFORM, GRAPH])
def test_neither_the_platform_nor_a_resource_has_an_account(
    world: BillingWorld, scope: Scope
) -> None:
    with pytest.raises(ControlNotFound):
        run(world.billing.open_account(ANN, scope, DRAFT))


def test_the_bills_of_a_deleted_project_are_its_organizations(world: BillingWorld) -> None:
    run(world.projects.create(ANN, "acme", "Lab", project_id="lab"))
    lab = run(world.billing.open_account(ANN, Scope("project", "lab"), DRAFT))
    run(world.projects.delete(ANN, "lab"))
    assert run(world.billing.read_account(ANN, lab.id)) == lab
    with pytest.raises(ControlNotFound):
        run(world.billing.read_account(BOB, lab.id))


def test_each_change_of_an_account_is_in_the_audit_log(world: BillingWorld) -> None:
    account = world.open(ACME)
    run(world.billing.update_account(ANN, account.id, DRAFT))
    run(world.billing.close_account(ANN, account.id))
    lines = run(world.audit.list(ANN, ACME)).items
    actions = [
        each.entry.action for each in lines if each.entry.target == f"billing-account:{account.id}"
    ]
    assert actions == [
        "billing-accounts/close",
        "billing-accounts/update",
        "billing-accounts/open",
    ]


def test_a_clock_set_back_takes_no_time_of_a_bill_back(world: BillingWorld) -> None:
    account = world.open(ACME)
    boat, other = world.bring_up("boat"), world.bring_up("other")
    late = world.now = world.now + 3 * 24 * HOUR * SECOND
    run(world.projects.update(ANN, "campus", "Campus West"))
    world.now -= 2 * 24 * HOUR * SECOND
    world.bring_up("new")
    world.change_sku(boat, Sku.ENTERPRISE)
    world.take_down(other)
    own = world.open(CAMPUS)
    changed = run(world.billing.update_account(ANN, account.id, DRAFT))
    closed = run(world.billing.close_account(ANN, own.id))
    assert [own.opened_at, own.updated_at, changed.updated_at, closed.closed_at] == [late] * 4
    spans = {
        span.resource_id: span for span in SPANS.parse_all(world.store.session().find(SPANS.kind))
    }
    second = late // SECOND
    assert spans["new"].interval.begin == second
    assert [step.at for step in spans["boat"].steps][1:] == [second]
    assert spans["other"].ended == second
    draft = world.statement(account, FEBRUARY).read()
    assert draft["until"] == "2024-02-04T00:00:00.000000Z"


def test_prices_are_for_everybody(world: BillingWorld) -> None:
    assert len(run(world.billing.read_prices(FEBRUARY)).prices) == 6


def test_a_provider_that_is_not_there_stops_the_start(world: BillingWorld) -> None:
    with pytest.raises(ConfigurationError, match="Did you mean manual"):
        Billing(world.context, world.offers, currency="EUR", provider="manuel")


def test_an_account_of_a_body_is_checked() -> None:
    body = {"name": " Acme ", "email": "Bills@Acme.example", "details": {"vat": "X"}}
    assert parse_account(json.loads(json.dumps(body))) == AccountDraft(
        "Acme", "bills@acme.example", {"vat": "X"}
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ([], "JSON object"),
        ({"name": "A"}, "text email"),
        ({"name": 1, "email": "a@b"}, "text name"),
        ({"name": "A", "email": "a@b", "emial": ""}, "Did you mean email"),
        ({"name": "A", "email": "nobody"}, "no email address"),
        ({"name": "A", "email": "a@b", "details": {"x": 1}}, "details is an object"),
        ({"name": "A", "email": "a@b", "details": {"": "x"}}, "details is an object"),
        ({"name": "A", "email": "a@b", "details": {str(n): "" for n in range(21)}}, "at most 20"),
    ],
)
def test_a_body_that_is_no_account_is_refused(body: object, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        parse_account(body)  # type: ignore[arg-type]  # what a client may send


def test_a_service_account_with_the_permission_reads_bills(world: BillingWorld) -> None:
    account = world.open(CAMPUS)
    world.grant(ANN, CAMPUS, "reporter", "viewer")
    reporter = Actor("reporter", kind="service")
    assert run(world.billing.read_account(reporter, account.id)) == account
