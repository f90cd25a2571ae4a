"""Workspaces over HTTP: documents that a page keeps, with conditions, limits and their author."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.graph.inline_runner import InlineRunner
from tests.unit.http.conftest import Client
from tests.unit.http.test_access import ACCESS, ClaimedPermissions, NamedCaller, Trail
from twinframe.access.gate import Gate
from twinframe.graph import Graph
from twinframe.http.application import build_application
from twinframe.settings import Settings
from twinframe.storage.base import GraphTransaction
from twinframe.storage.memory import MemoryStore

Connect = Callable[..., Client]
WING = {"name": "North Wing", "content": {"query": "MATCH (r:Room) RETURN r", "pins": ["b1"]}}


@pytest.fixture
def connect() -> Connect:
    """Builds a client over a real graph in memory, with settings given as sections."""

    def build(*, gate: Any = None, **sections: Any) -> Client:
        own = Settings.model_validate(sections)
        graph = Graph(InlineRunner(MemoryStore()), own)
        return Client(build_application(graph, own, gate=gate))

    return build


def put(client: Client, name: str, document: Any, **headers: str) -> Any:
    sent = {key.replace("_", "-"): value for key, value in headers.items()}
    return client.send("PUT", f"/workspaces/{name}", orjson.dumps(document), sent)


def test_a_workspace_is_stored_read_listed_and_deleted(connect: Connect) -> None:
    client = connect()
    made = put(client, "wing", WING)
    assert made.status == 200
    assert made.json == {
        "id": "wing",
        **WING,
        "kind": None,
        "etag": made.headers["etag"],
        "createdTime": made.json["createdTime"],
        "createdBy": None,
        "lastUpdateTime": made.json["createdTime"],
        "lastUpdateBy": None,
    }
    read = client.send("GET", "/workspaces/wing")
    assert (read.json, read.headers["etag"]) == (made.json, made.headers["etag"])
    listed = client.send("GET", "/workspaces").json["value"]
    assert listed == [{k: v for k, v in made.json.items() if k != "content"}]
    assert client.send("DELETE", "/workspaces/wing").status == 204
    assert client.send("GET", "/workspaces").json["value"] == []
    for method in ("GET", "DELETE"):
        assert client.send(method, "/workspaces/wing").code == "WorkspaceNotFound"


@pytest.mark.parametrize(
    ("kind", "listed"),
    [("dashboard", "dashboard"), ("", None), (None, None), (3, None), ("x" * 65, None)],
)
def test_a_listing_tells_the_kind_that_a_content_gives_itself(
    connect: Connect, kind: Any, listed: str | None
) -> None:
    client = connect()
    put(client, "wing", WING)
    content = {"kind": kind, "version": 1}
    assert put(client, "wing", {"name": "Wing", "content": content}).json["content"] == content
    assert [one["kind"] for one in client.send("GET", "/workspaces").json["value"]] == [listed]


def test_a_workspace_that_was_kept_before_kinds_has_none(connect: Connect) -> None:
    store = MemoryStore()
    fields = ("name", "etag", "created", "created_by", "updated", "updated_by")
    head = orjson.dumps(dict.fromkeys(fields, "x"))

    def keep(transaction: GraphTransaction) -> None:
        transaction.put_entry("workspace", "old", head)
        transaction.put_entry("workspace-content", "old", b"{}")

    own = Settings()
    store.write([keep])
    client = Client(build_application(Graph(InlineRunner(store), own), own))
    assert client.send("GET", "/workspaces/old").json["kind"] is None


def test_who_creates_and_who_changes_a_workspace_is_kept(connect: Connect) -> None:
    client = connect(gate=Gate(NamedCaller(), ClaimedPermissions(), Trail().append), **ACCESS)
    may = "workspaces/read workspaces/write"
    put(client, "wing", WING, x_caller=f"ann {may}")
    changed = put(client, "wing", {**WING, "name": "North"}, x_caller=f"bob {may}").json
    assert (changed["createdBy"], changed["lastUpdateBy"]) == ("ann", "bob")
    refused = put(client, "wing", WING, x_caller="eve workspaces/read")
    assert refused.status == 403
    assert client.send("DELETE", "/workspaces/wing", None, {"x-caller": f"ann {may}"}).status == 403


def test_two_people_do_not_overwrite_each_other(connect: Connect) -> None:
    client = connect()
    first = put(client, "wing", WING, if_none_match="*").headers["etag"]
    assert put(client, "wing", WING, if_none_match="*").code == "PreconditionFailed"
    second = put(client, "wing", WING, if_match=first).headers["etag"]
    assert second != first
    assert put(client, "wing", WING, if_match=first).code == "PreconditionFailed"
    stale = client.send("DELETE", "/workspaces/wing", None, {"if-match": first})
    assert stale.code == "PreconditionFailed"
    assert put(client, "none", WING, if_match="*").code == "PreconditionFailed"
    assert client.send("GET", "/workspaces/wing").headers["etag"] == second


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ([], "must be an object"),
        ({"content": {}}, "name of a workspace"),
        ({"name": " ", "content": {}}, "1 to 200 characters"),
        ({"name": "x" * 201, "content": {}}, "1 to 200 characters"),
        ({"name": "x"}, "content of a workspace must be an object"),
        ({"name": "x", "content": []}, "content of a workspace must be an object"),
        ({"name": "x", "contents": {}}, "Did you mean content?"),
    ],
)
def test_a_wrong_workspace_is_refused_and_changes_nothing(
    connect: Connect, document: Any, said: str
) -> None:
    client = connect()
    before = put(client, "wing", WING).json
    refused = put(client, "wing", document)
    assert (refused.status, refused.code) == (400, "InvalidArgument")
    assert said in refused.json["error"]["message"]
    assert client.send("GET", "/workspaces/wing").json == before


def test_bytes_and_number_of_workspaces_are_limited(connect: Connect) -> None:
    client = connect(graph={"max_workspaces": 2, "max_workspace_bytes": 100})
    large = put(client, "a", {"name": "a", "content": {"text": "x" * 100}})
    assert "Graph__MaxWorkspaceBytes" in large.json["error"]["message"]
    for name in ("a", "b", "a"):
        assert put(client, name, WING).status == 200
    assert "Graph__MaxWorkspaces" in put(client, "c", WING).json["error"]["message"]
    assert put(client, "x" * 257, WING).code == "InvalidArgument"


def test_a_listing_is_read_in_pages(connect: Connect) -> None:
    client = connect(graph={"page_size": 2})
    for name in "edcba":
        put(client, name, {"name": name.upper(), "content": {}})
    found, target = [], "/workspaces"
    while target:
        page = client.send("GET", target).json
        found += [each["id"] for each in page["value"]]
        assert len(page["value"]) <= 2
        target = (page.get("nextLink") or "").removeprefix("https://localhost:8080")
    assert found == list("abcde")


# NOTE: the service takes no U+0000 in texts, which PostgreSQL cannot store.
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.dictionaries(TEXT, JSON, max_size=5))
def test_content_comes_back_as_it_was(connect: Connect, content: dict[str, Any]) -> None:
    client = connect()
    put(client, "wing", {"name": "wing", "content": content})
    assert client.send("GET", "/workspaces/wing").json["content"] == content
