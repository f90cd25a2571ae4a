"""The own graph of a service is nobody's who names a resource like it: three real services."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from tests.e2e.control_plane import SCOPE, ControlClient, ControlProcess
from tests.e2e.server import Server
from tests.e2e.test_control_journey import name_user
from tests.e2e.test_hosted_graphs import Caller
from tests.e2e.token_server import AUDIENCE, Registered, TokenProcess

NAMES = {"unset": "default", "campus": "campus"}
RESOURCES = "/projects/mine/resources"


@dataclass(frozen=True)
class Installation:
    """A control plane and two services that ask it, their own graphs called as `NAMES` says."""

    tokens: TokenProcess
    control: ControlProcess
    services: dict[str, Server]
    root: Registered
    tenant: Registered

    def try_all(self, service: str, client: Registered) -> list[int]:
        """What the own graph answers to two reads and a deletion of what is not there."""
        call = Caller(self.services[service].port)
        headers = {"Authorization": f"Bearer {self.tokens.get_token(client)}"}
        asked = (("GET", "/models"), ("GET", "/eventroutes"), ("DELETE", "/digitaltwins/none"))
        return [call(method, path, **headers).status for method, path in asked]


NOTHING, READING, EVERYTHING = [403, 403, 403], [200, 200, 403], [200, 200, 404]


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    folder = tmp_path_factory.mktemp("own-graph")
    with ExitStack() as stack:
        tokens = stack.enter_context(TokenProcess(folder))
        root, tenant, checker = (
            tokens.add_client(name, scope=SCOPE) for name in ("root", "tenant", "checker")
        )
        control = ControlProcess(folder, tokens)
        done = control.run("control", "init", "--owner", name_user(root), "--organization", "ops")
        assert done.exit_code == 0, done.output
        stack.enter_context(control)
        boss = control.sign_in(root)
        for role, client in (("permission-checker", checker), ("organization-creator", tenant)):
            grant = {"role_id": role, "user_id": name_user(client)}
            boss.do("POST", "/platform/role-assignments", grant, 201)
        services = {}
        for service, name in NAMES.items():
            own = folder / service
            own.mkdir()
            environment = {
                **control.settings,
                "Storage__Sqlite__Directory": str(own / "data"),
                "Hosting__Directory": str(own / "hosting"),
                "Hosting__Enabled": "true",
                "Authorization__Provider": "Api",
                "Authorization__ApiProvider__BaseUrl": control.url,
                "Authorization__ApiProvider__TokenEndpoint": f"{tokens.issuer}/oauth/token",
                "Authorization__ApiProvider__ClientId": checker.client_id,
                "Authorization__ApiProvider__ClientSecret": checker.client_secret,
                "Authorization__ApiProvider__Audience": AUDIENCE,
            }
            if service != "unset":
                environment["Authorization__ApiProvider__ResourceName"] = name
            services[service] = stack.enter_context(Server(own, environment=environment))
        yield Installation(tokens, control, services, root, tenant)


@pytest.fixture(scope="module")
def owner(installation: Installation) -> ControlClient:
    """A tenant who owns an organization and a project."""
    tenant = installation.control.sign_in(installation.tenant)
    tenant.do("POST", "/organizations", {"id": "mine", "name": "Mine"}, 201)
    project = {"id": "mine", "organization_id": "mine", "name": "Mine"}
    tenant.do("POST", "/projects", project, 201)
    return tenant


@pytest.mark.parametrize("kind", ["Platform.Flow", "Platform.Graph"])
@pytest.mark.parametrize("service", NAMES)
def test_a_resource_named_like_the_own_graph_opens_it_to_nobody(
    installation: Installation, owner: ControlClient, service: str, kind: str
) -> None:
    name = NAMES[service]
    assert installation.try_all(service, installation.tenant) == NOTHING
    owner.do("POST", RESOURCES, {"id": name, "name": "Taken", "type": kind}, 201)
    user = name_user(installation.tenant)
    grant = {"role_id": "graph-data-owner", "user_id": user}
    owner.do("POST", f"{RESOURCES}/{name}/role-assignments", grant, 201)
    for status in ("here", "terminated"):
        if status == "terminated":
            owner.do("DELETE", f"{RESOURCES}/{name}", status=202)
            owner.wait_for(f"{RESOURCES}/{name}", "terminated")
        assert installation.try_all(service, installation.tenant) == NOTHING
        assert installation.try_all(service, installation.root) == EVERYTHING


def test_the_own_graph_is_for_who_administers_the_platform_or_was_granted_it(
    installation: Installation, owner: ControlClient
) -> None:
    boss = installation.control.sign_in(installation.root)
    reader = installation.tokens.add_client("reader", scope=SCOPE)
    grant = {"role_id": "graph-data-viewer", "user_id": name_user(reader)}
    owner_refused = owner.send("POST", "/services/campus/role-assignments", grant)
    assert owner_refused.status == 404
    given = boss.do("POST", "/services/campus/role-assignments", grant, 201)
    assert (given["scope_type"], given["scope_id"]) == ("service", "campus")
    assert installation.try_all("campus", reader) == READING
    assert installation.try_all("unset", reader) == NOTHING
    listed = boss.do("GET", "/services/campus/role-assignments")["role_assignments"]
    assert [each["assignment_id"] for each in listed] == [given["assignment_id"]]
    actions = [each["action"] for each in boss.do("GET", "/services/campus/audit-log")["entries"]]
    assert actions == ["role-assignments/create"]
    boss.do("DELETE", f"/role-assignments/{given['assignment_id']}", status=204)
    assert installation.try_all("campus", reader) == NOTHING
