"""The access API against a model that is too simple to be wrong, by random steps of many callers.

The model knows a grant as a set of plain names and asks every ancestor in turn; it has no store,
no index, no wildcard matching and no transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from tests.unit.control.tenants.access_world import PLATFORM, SECOND, START, World, build_store, run
from twinframe.control.records.actors import Actor, Principal
from twinframe.control.records.listing import Slice
from twinframe.control.records.scopes import Scope
from twinframe.control.tenants.bootstrap import bootstrap
from twinframe.control.tenants.catalogue import (
    BUILT_IN_ROLES,
    CONTROL_PERMISSIONS,
    DATA_PERMISSIONS,
)
from twinframe.errors import TwinframeError

SUBJECTS = ("root", "ann", "bob", "eve", "zoe")
ROLES = ("owner", "viewer", "editor", "graph-data-viewer", "permission-checker")
CUSTOM = ("first", "second")
CUSTOM_SETS = (
    ("query/read",),
    ("access/read", "access/write", "projects/read"),
    ("access/*", "organizations/read", "query/*", "digitaltwins/relationships/*"),
    ("roles/*", "organizations/read", "digitaltwins/*"),
    ("digitaltwins/relationships/read", "access/*", "resources/read"),
)
ORGANIZATIONS = {"acme": ("campus", "depot"), "beta": ("lab",)}
RESOURCES = {"graph": "campus", "other": "lab"}
PARENTS: dict[Scope, Scope] = {
    **{Scope("organization", name): PLATFORM for name in ORGANIZATIONS},
    **{
        Scope("project", project): Scope("organization", name)
        for name, projects in ORGANIZATIONS.items()
        for project in projects
    },
    **{Scope("resource", name): Scope("project", project) for name, project in RESOURCES.items()},
}
SCOPES = (PLATFORM, *PARENTS)
READ = {
    "organization": "organizations/read",
    "project": "projects/read",
    "resource": "resources/read",
}
NAMES = (*CONTROL_PERMISSIONS, *DATA_PERMISSIONS)

Outcome = str
"""`ok`, or the name of the error."""


def spell_out(grants: tuple[str, ...]) -> frozenset[str]:
    """All that grants cover, name by name; a wildcard also counts as a name of its own."""
    names = {name for name in NAMES for grant in grants if name == grant}
    for grant in grants:
        if grant.endswith("/*"):
            stem = grant[:-1]
            names |= {name for name in NAMES if name.startswith(stem)}
            names |= {f"{name.rpartition('/')[0]}/*" for name in NAMES if name.startswith(stem)}
            names.add(grant)
    return frozenset(names)


@dataclass
class Held:
    """One role of one principal at one scope; `role` is `organization/role` for custom ones."""

    id: str
    scope: Scope
    principal: Principal
    role: str
    expires: int | None

    def lasts(self, until: int | None) -> bool:
        return self.expires is None or (until is not None and self.expires >= until)

    def outlasts(self, other: Held) -> bool:
        forever = 2**63
        return (self.expires or forever) > (other.expires or forever)

    @property
    def keeps_owner(self) -> bool:
        return (
            self.role == "owner"
            and self.expires is None
            and self.principal.kind == "subject"
            and self.scope.type in ("platform", "organization")
        )


@dataclass
class Model:
    """Who holds what; `custom` is what the custom roles give, `seen` who has called."""

    now: int = START
    held: list[Held] = field(default_factory=list)
    custom: dict[str, tuple[str, ...]] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    parents: dict[Scope, Scope] = field(default_factory=lambda: dict(PARENTS))
    used: set[str] = field(default_factory=lambda: {scope.id for scope in PARENTS})

    def is_there(self, scope: Scope) -> bool:
        return scope == PLATFORM or scope in self.parents

    def list_ancestors(self, scope: Scope | None) -> Iterator[Scope]:
        while scope is not None:
            yield scope
            scope = self.parents.get(scope)

    def find_organization(self, scope: Scope) -> str:
        found = (each.id for each in self.list_ancestors(scope) if each.type == "organization")
        return next(found, "")

    def grants(self, role: str) -> frozenset[str]:
        if role in BUILT_IN_ROLES:
            return spell_out(BUILT_IN_ROLES[role].permissions)
        return spell_out(self.custom.get(role, ()))

    def list_held(self, actor: Actor, scope: Scope) -> list[Held]:
        mine = {("subject", actor.subject), ("email", actor.email)}
        return [
            each
            for each in self.held
            if each.scope in self.list_ancestors(scope)
            and (each.principal.kind, each.principal.name) in mine
            and (each.expires is None or each.expires > self.now)
        ]

    def may(self, actor: Actor, scope: Scope, name: str, until: int | None = START) -> bool:
        return any(
            name in self.grants(each.role)
            for each in self.list_held(actor, scope)
            if each.lasts(until)
        )

    def refuse(self, actor: Actor, scope: Scope, name: str) -> Outcome | None:
        if self.is_there(scope) and self.may(actor, scope, name):
            return None
        if scope == PLATFORM or (self.is_there(scope) and self.may(actor, scope, READ[scope.type])):
            return "PermissionMissing"
        return "ControlNotFound"

    def exceeds(self, actor: Actor, scope: Scope, role: str, until: int | None) -> bool:
        return any(not self.may(actor, scope, name, until) for name in self.grants(role))

    def refuse_taking(
        self, actor: Actor, gone: list[Held], lost: frozenset[str] | None = None
    ) -> set[Outcome]:
        """What may be answered to who would take these roles, or `lost` of them, from others."""
        found = set()
        for each in gone:
            is_own = each.principal.name in (actor.subject, actor.email)
            if is_own or (each.expires is not None and each.expires <= self.now):
                continue
            taken = self.grants(each.role) if lost is None else lost
            if not self.may(actor, each.scope, "access/write"):
                found.add("PermissionMissing")
            elif any(not self.may(actor, each.scope, name, each.expires) for name in taken):
                found.add("GrantExceedsOwn")
        return found

    def leaves_no_owner(self, gone: Held) -> bool:
        return gone.keeps_owner and not any(
            each.keeps_owner and each.scope == gone.scope and each.principal.name in self.seen
            for each in self.held
            if each is not gone
        )

    def accept(self, actor: Actor) -> None:
        """The actor shows its email: what was granted to it becomes the subject's."""
        for each in [held for held in self.held if held.principal.name == actor.email]:
            each.principal = Principal("subject", actor.subject)
            twins = [
                other
                for other in self.held
                if other is not each
                and (other.scope, other.principal, other.role)
                == (each.scope, each.principal, each.role)
            ]
            for other in twins:
                self.held.remove(other if each.outlasts(other) else each)


def outcome_of(call: Callable[[], object]) -> Outcome:
    try:
        call()
    except TwinframeError as error:
        return type(error).__name__
    return "ok"


actors = st.sampled_from(SUBJECTS).map(lambda name: Actor(name, f"{name}@example.com"))
principals = st.one_of(
    st.sampled_from(SUBJECTS).map(lambda name: Principal("subject", name)),
    st.sampled_from(SUBJECTS).map(lambda name: Principal("email", f"{name}@example.com")),
)
NEW = ("p0", "p1", "p2")
projects = st.sampled_from((*NEW, "campus", "depot", "lab", "none"))
scopes = st.sampled_from(
    (
        *SCOPES,
        *(Scope("project", name) for name in NEW),
        Scope("project", "none"),
        Scope("resource", "none"),
    )
)
delays = st.sampled_from((None, None, None, -1, 0, 1, 3, 10))


class AccessMachine(RuleBasedStateMachine):
    """Each rule does one call by somebody, and expects what the model says of it."""

    store = "memory"

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.world = World(build_store(self.store, Path(self.folder.name)))
        self.model = Model()

    def teardown(self) -> None:
        self.world.close()
        self.folder.cleanup()

    @initialize()
    def start(self) -> None:
        root = Actor("root", "root@example.com")
        own = run(bootstrap(self.world.context, Principal("subject", "root")))
        self.model.held.append(Held(own.id, PLATFORM, own.grantee, "owner", None))
        for name, projects in ORGANIZATIONS.items():
            run(self.world.organizations.create(root, name, organization_id=name))
            for project in projects:
                run(self.world.projects.create(root, name, project, project_id=project))
            scope = Scope("organization", name)
            (first,) = run(self.world.assignments.list(root, scope)).items
            self.model.held.append(Held(first.id, scope, first.grantee, "owner", None))
        for name, project in RESOURCES.items():
            parent = self.model.find_organization(Scope("project", project))
            self.world.put_resource(name, project, parent)
        for number, role in enumerate(CUSTOM):
            permissions = CUSTOM_SETS[number]
            run(self.world.roles.create(root, "acme", role, permissions, role=role))
            self.model.custom[f"acme/{role}"] = permissions
        for subject, scope in (("ann", Scope("organization", "acme")), ("bob", SCOPES[2])):
            made = self.world.grant(root, scope, subject, "owner")
            self.model.held.append(Held(made.id, scope, made.grantee, "owner", None))

    def find_until(self, delay: int | None) -> int | None:
        return None if delay is None else self.model.now + delay * SECOND

    @rule(
        actor=actors,
        scope=scopes,
        principal=principals,
        role=st.sampled_from((*ROLES, *CUSTOM, "none")),
        delay=delays,
    )
    def grant(
        self, actor: Actor, scope: Scope, principal: Principal, role: str, delay: int | None
    ) -> None:
        until = self.find_until(delay)
        organization = self.model.find_organization(scope)
        key = role if role in BUILT_IN_ROLES else f"{organization}/{role}"
        same = [
            each
            for each in self.model.held
            if (each.scope, each.principal, each.role) == (scope, principal, key)
        ]
        expected = self.model.refuse(actor, scope, "access/write")
        if expected is None:
            if (key not in BUILT_IN_ROLES and key not in self.model.custom) or (
                until is not None and until <= self.model.now
            ):
                expected = "InvalidArgument"
            elif self.model.exceeds(actor, scope, key, until):
                expected = "GrantExceedsOwn"
            elif any(each.expires is None or each.expires > self.model.now for each in same):
                expected = "ControlConflict"
        made: list[str] = []
        call = self.world.assignments.grant(actor, scope, principal, role, expires_at=until)
        assert outcome_of(lambda: made.append(run(call).id)) == (expected or "ok")
        if expected is None:
            for each in same:
                self.model.held.remove(each)
            self.model.held.append(Held(made[0], scope, principal, key, until))

    @rule(actor=actors, choice=st.integers(0, 99))
    def revoke(self, actor: Actor, choice: int) -> None:
        held = self.model.held[choice % len(self.model.held)]
        is_own = held.principal.name in (actor.subject, actor.email)
        expected: Outcome | None = None
        if not is_own:
            expected = self.refuse_unread(actor, held)
            if expected is None:
                expected = next(iter(self.model.refuse_taking(actor, [held])), None)
        if expected is None and self.model.leaves_no_owner(held):
            expected = "LastOwner"
        call = self.world.assignments.revoke(actor, held.id)
        assert outcome_of(lambda: run(call)) == (expected or "ok")
        if expected is None:
            self.model.held.remove(held)

    @rule(actor=actors, choice=st.integers(0, 99), delay=delays)
    def change(self, actor: Actor, choice: int, delay: int | None) -> None:
        held = self.model.held[choice % len(self.model.held)]
        until = self.find_until(delay)
        is_own = held.principal.name in (actor.subject, actor.email)
        expected = self.refuse_unread(actor, held, is_own=is_own)
        if expected is None:
            if until is not None and until <= self.model.now:
                expected = "InvalidArgument"
            elif self.model.exceeds(
                actor, held.scope, held.role, until
            ) or self.model.refuse_taking(actor, [held]):
                expected = "GrantExceedsOwn"
            elif until is not None and self.model.leaves_no_owner(held):
                expected = "LastOwner"
        call = self.world.assignments.change(actor, held.id, until)
        assert outcome_of(lambda: run(call)) == (expected or "ok")
        if expected is None:
            held.expires = until

    def refuse_unread(self, actor: Actor, held: Held, *, is_own: bool = False) -> Outcome | None:
        if not is_own and not self.model.may(actor, held.scope, "access/read"):
            return "ControlNotFound"
        if not self.model.may(actor, held.scope, "access/write"):
            return "PermissionMissing"
        return None

    @rule(actor=actors, role=st.sampled_from(CUSTOM), permissions=st.sampled_from(CUSTOM_SETS))
    def define(self, actor: Actor, role: str, permissions: tuple[str, ...]) -> None:
        scope, key = Scope("organization", "acme"), f"acme/{role}"
        present = self.model.custom.get(key)
        expected = self.model.refuse(actor, scope, "roles/write")
        refusals = set() if expected is None else {expected}
        if expected is None:
            before, after = spell_out(present or ()), spell_out(permissions)
            if any(not self.model.may(actor, scope, name, None) for name in after - before):
                refusals = {"GrantExceedsOwn"}
            elif before != after:
                held = [each for each in self.model.held if each.role == key]
                refusals = self.model.refuse_taking(actor, held, before - after)
        if present is None:
            call = self.world.roles.create(actor, "acme", role, permissions, role=role)
        else:
            call = self.world.roles.update(actor, "acme", role, permissions=permissions)
        assert outcome_of(lambda: run(call)) in (refusals or {"ok"})
        if not refusals:
            self.model.custom[key] = permissions

    @rule(actor=actors, role=st.sampled_from(CUSTOM), cascade=st.booleans())
    def remove_role(self, actor: Actor, role: str, cascade: bool) -> None:
        key = f"acme/{role}"
        held = [each for each in self.model.held if each.role == key]
        expected = self.model.refuse(actor, Scope("organization", "acme"), "roles/write")
        if expected is None:
            if key not in self.model.custom:
                expected = "ControlNotFound"
            elif held and not cascade:
                expected = "ControlConflict"
        refusals = self.model.refuse_taking(actor, held) if expected is None else {expected}
        call = self.world.roles.delete(actor, "acme", role, cascade=cascade)
        assert outcome_of(lambda: run(call)) in (refusals or {"ok"})
        if not refusals:
            del self.model.custom[key]
            self.model.held = [each for each in self.model.held if each.role != key]

    @rule(actor=actors, organization=st.sampled_from(("acme", "beta", "none")), name=projects)
    def create_project(self, actor: Actor, organization: str, name: str) -> None:
        parent = Scope("organization", organization)
        expected = self.model.refuse(actor, parent, "projects/write")
        if expected is None and name in self.model.used:
            expected = "ControlConflict"
        call = self.world.projects.create(actor, organization, name, project_id=name)
        assert outcome_of(lambda: run(call)) == (expected or "ok")
        if expected is None:
            self.model.parents[Scope("project", name)] = parent
            self.model.used.add(name)

    @rule(actor=actors, name=projects)
    def delete_project(self, actor: Actor, name: str) -> None:
        scope = Scope("project", name)
        expected = self.model.refuse(actor, scope, "projects/delete")
        if expected is None and scope in self.model.parents.values():
            expected = "ControlConflict"
        gone = [each for each in self.model.held if each.scope == scope]
        refusals = self.model.refuse_taking(actor, gone) if expected is None else {expected}
        call = self.world.projects.delete(actor, name)
        assert outcome_of(lambda: run(call)) in (refusals or {"ok"})
        if not refusals:
            del self.model.parents[scope]
            self.model.held = [each for each in self.model.held if each.scope != scope]

    @rule(actor=actors)
    def come_by(self, actor: Actor) -> None:
        run(self.world.users.see(actor))
        self.model.accept(actor)
        self.model.seen.add(actor.subject)

    @rule(seconds=st.sampled_from((1, 3, 10)))
    def wait(self, seconds: int) -> None:
        self.model.now += seconds * SECOND
        self.world.now = self.model.now

    @rule(asker=actors, subject=st.sampled_from(SUBJECTS), scope=scopes)
    def ask(self, asker: Actor, subject: str, scope: Scope) -> None:
        """The check: of oneself, or of others."""
        found: list[str] = []
        call = self.world.access.permissions(asker, scope, subject)
        outcome = outcome_of(lambda: found.extend(run(call)))
        if subject == asker.subject:
            assert outcome == "ok"
            held = self.model.list_held(asker, scope if self.model.is_there(scope) else PLATFORM)
        else:
            assert outcome == (self.model.refuse(asker, scope, "access/check") or "ok")
            if outcome != "ok":
                return
            known = subject in self.model.seen
            other = Actor(subject, f"{subject}@example.com" if known else "")
            held = [
                each
                for each in self.model.list_held(other, scope)
                if self.model.may(asker, each.scope, "access/check")
            ]
        names = frozenset(name for each in held for name in self.model.grants(each.role))
        assert spell_out(tuple(found)) == names

    @rule(actor=actors, limit=st.integers(1, 4), offset=st.integers(0, 4))
    def list_readable(self, actor: Actor, limit: int, offset: int) -> None:
        wanted = Slice(limit, offset)
        for type_, listed in (
            ("organization", run(self.world.organizations.list(actor, wanted))),
            ("project", run(self.world.projects.list(actor, wanted))),
        ):
            readable = sorted(
                scope.id
                for scope in self.model.parents
                if scope.type == type_ and self.model.may(actor, scope, READ[type_])
            )
            assert [each.id for each in listed.items] == readable[offset : offset + limit]
            assert listed.total == len(readable)

    @invariant()
    def an_owner_stays(self) -> None:
        """Not of the model: of the store itself, whatever was done."""
        if not self.model.held:
            return
        keys = [record.keys for record in self.world.runner.session.find("assignment")]
        for scope in (PLATFORM, Scope("organization", "acme"), Scope("organization", "beta")):
            assert any(
                each["scope"] == scope.key
                and each["role"] == "owner"
                and each["expires"] is None
                and str(each["principal"]).startswith("subject:")
                for each in keys
            )


class SqliteAccessMachine(AccessMachine):
    """The same over a file."""

    store = "sqlite"


def build_settings(examples: int) -> settings:
    return settings(
        max_examples=examples,
        stateful_step_count=50,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )


def test_ten_thousand_steps_of_access_make_no_difference_to_the_model() -> None:
    run_state_machine_as_test(AccessMachine, settings=build_settings(200))


def test_nor_do_a_thousand_over_sqlite() -> None:
    pytest.importorskip("twinframe_storage_sqlite", reason="pip install twinframe-storage-sqlite")
    run_state_machine_as_test(SqliteAccessMachine, settings=build_settings(20))
