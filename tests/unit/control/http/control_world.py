"""A control plane in memory behind its real edge, and a client that calls it as a server would."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import orjson

from twinframe.access.authentication.port import MISSING, Authenticator, Headers
from twinframe.access.gate import AuditEntry, Gate
from twinframe.access.permissions import Caller
from twinframe.control.billing.offers import build_offers
from twinframe.control.http.application import build_control_application
from twinframe.control.plane import RECORD_KINDS, ControlPlane
from twinframe.control.records.actors import Principal
from twinframe.control.records.runner import ControlRunner
from twinframe.control.resources.guarded import forget_access
from twinframe.control.resources.provisioner import Provisioner
from twinframe.control.tenants.bootstrap import bootstrap
from twinframe.errors import Unauthenticated
from twinframe.hooks.resource_types.base import (
    ProvisionContext,
    Provisioned,
    ProvisionFailed,
    ResourceType,
    ResourceTypeRegistry,
)
from twinframe.hooks.resource_types.prices import Sku
from twinframe.hooks.resource_types.quotas import Quota, QuotaLimit
from twinframe.settings import Settings
from twinframe.storage.control import ControlStore, Record
from twinframe.storage.control_memory import MemoryControlStore, MemoryRecords

PLATFORM = "access:platform"


class NamedCallers(Authenticator):
    """`Bearer <subject>` is somebody with the scope; `;scope=` and claims may follow."""

    async def authenticate(self, headers: Headers) -> Caller:
        sent = [value.decode() for name, value in headers if name == b"authorization"]
        if len(sent) != 1 or not sent[0].startswith("Bearer "):
            raise Unauthenticated(MISSING)
        subject, *rest = sent[0].removeprefix("Bearer ").split(";")
        claims: dict[str, Any] = {"scope": PLATFORM, "email_verified": True}
        for part in rest:
            name, _, value = part.partition("=")
            claims[name] = {"true": True, "false": False}.get(value, value)
        scopes = frozenset(str(claims["scope"]).split(" "))
        return Caller(unquote(subject), claims, scopes=scopes)


class Placed(ResourceType):
    """A type that has an address at once."""

    name = "Platform.Graph"

    async def provision(self, context: ProvisionContext) -> Provisioned:
        return Provisioned(f"https://graphs.example/graphs/{context.name.resource_id}")


class Recorded(ResourceType):
    """A type that is a record alone."""

    name = "Platform.Flow"


class Broken(ResourceType):
    """A type that never comes up."""

    name = "Platform.Broken"

    async def provision(self, context: ProvisionContext) -> Provisioned:
        raise ProvisionFailed("There is no room.", final=True)


class Few(ResourceType):
    """A type of which a project may have two."""

    name = "Platform.Few"

    def quotas(self) -> list[QuotaLimit]:
        return [QuotaLimit(Sku.FREE, Quota.RESOURCES, 2)]


@dataclass(frozen=True)
class Answered:
    """What the application sent."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)


class World:
    """One control plane; every call runs on the one event loop of it."""

    def __init__(self, store: ControlStore | None = None, **sections: Any) -> None:
        known = {"enabled": True, "authority": "https://issuer.example", "audience": "control"}
        self.settings = Settings.model_validate({"authentication": known, **sections})
        self.audit: list[AuditEntry] = []
        self.loop = asyncio.Runner()
        self.records = MemoryRecords()
        self.store = store or MemoryControlStore(self.records)
        self.store.open(RECORD_KINDS)
        self.runner = ControlRunner(self.store)
        types = ResourceTypeRegistry([Placed(), Recorded(), Broken(), Few()])
        offers = build_offers(types)
        self.plane = ControlPlane(self.runner, types, self.settings.control, offers)
        self.gate = Gate(NamedCallers(), None, self.audit.append)
        self.app: Any = build_control_application(self.plane, self.settings, self.gate)
        self.provisioner = Provisioner(
            self.runner,
            types,
            on_gone=(forget_access, self.plane.watch.on_gone),
            on_running=(self.plane.watch.on_running,),
        )
        self.loop.run(self.plane.start())
        self.loop.run(bootstrap(self.plane.context, Principal("subject", "root")))

    def close(self) -> None:
        self.loop.run(self.runner.close())
        self.loop.close()
        self.store.close()

    def store_state(self) -> dict[str, dict[str, Record]]:
        """All that is stored, by kind and id."""
        return {
            kind: {record_id: table.records[record_id] for record_id in table.records}
            for kind, table in self.records.tables.items()
        }

    def provision(self) -> None:
        """Do all the work that is due."""
        while self.loop.run(self.provisioner.run_once()):
            continue

    def send(
        self,
        method: str,
        target: str,
        caller: str | None = "root",
        body: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answered:
        """Send a request below `/api/v1`, or to a whole path that begins with `//`."""
        path = target[1:] if target.startswith("//") else f"/api/v1{target}"
        data = body if isinstance(body, bytes) else b"" if body is None else orjson.dumps(body)
        sent = {"host": "localhost", **(headers or {})}
        if caller is not None:
            sent["authorization"] = f"Bearer {caller}"
        if data:
            sent.setdefault("content-type", "application/json")
            sent.setdefault("content-length", str(len(data)))
        path, _, query = path.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": method,
            "scheme": "https",
            "path": unquote(path),
            "raw_path": path.encode("ascii"),
            "query_string": query.encode("ascii"),
            "root_path": "",
            "headers": [(name.lower().encode(), text.encode()) for name, text in sent.items()],
            "client": ("192.0.2.1", 50000),
            "server": ("127.0.0.1", 8083),
            "state": {},
        }
        return self.loop.run(self._exchange(scope, data))

    async def _exchange(self, scope: dict[str, Any], body: bytes) -> Answered:
        events = [{"type": "http.request", "body": body, "more_body": False}]
        sent: list[Any] = []

        async def receive() -> Any:
            return events.pop(0) if events else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        start, *rest = sent
        headers = {name.decode(): value.decode() for name, value in start["headers"]}
        return Answered(start["status"], headers, b"".join(m.get("body", b"") for m in rest))

    def build_tenant(self, name: str) -> str:
        """An organization `name` with a project `name-prj`, owned by `name-owner`; its owner."""
        owner = f"{name}-owner"
        made = self.send("POST", "/organizations", "root", {"id": name, "name": name})
        assert made.status == 201, made.body
        self.grant(f"/organizations/{name}", owner, "owner")
        project = {"id": f"{name}-prj", "organization_id": name, "name": name}
        made = self.send("POST", "/projects", owner, project)
        assert made.status == 201, made.body
        return owner

    def grant(self, path: str, user: str, role: str, caller: str = "root", **more: Any) -> str:
        """Give a role at the scope of a path; the id of the assignment."""
        body = {"user_id": user, "role_id": role, **more}
        made = self.send("POST", f"{path}/role-assignments", caller, body)
        assert made.status == 201, made.body
        return str(made.json["assignment_id"])

    def create_resource(self, project: str, caller: str, name: str = "", **more: Any) -> Answered:
        """Create a graph."""
        body = {"id": name or "graph-1", "name": "Graph", "type": "Platform.Graph", **more}
        made = self.send("POST", f"/projects/{project}/resources", caller, body)
        assert made.status == 201, made.body
        return made
