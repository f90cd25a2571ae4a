"""What the service is asked, what of its answers is taken, and what is logged of the others."""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
from pathlib import Path

import pytest
import trustme
from hypothesis import given, settings
from hypothesis import strategies as st

from twinframe.access.permissions import Caller
from twinframe.errors import SettingsError
from twinframe.hooks.drivers import PERMISSION_PROVIDER, load_plugin
from twinframe.hooks.manager import build_manager
from twinframe.hooks.sections import read_section_class
from twinframe.testing.scripted_service import (
    Script,
    ScriptedRequest,
    ScriptedService,
    always,
    render_reply,
)
from twinframe_auth_api.client import _load_trust
from twinframe_auth_api.errors import AnswerRefusedError
from twinframe_auth_api.plugin import twinframe_findings, twinframe_permission_provider
from twinframe_auth_api.provider import ApiProvider, render_url
from twinframe_auth_api.settings import ApiProviderSettings

GOOD = render_reply({"permissions": ["models/read", "query/*"]})


def ask(
    script: bytes | Script, *subjects: str, tls: ssl.SSLContext | None = None, **settings: object
) -> tuple[list[frozenset[str]], list[ScriptedRequest]]:
    """What a provider says of these subjects, one after the other, and what the service saw."""

    async def run() -> tuple[list[frozenset[str]], list[ScriptedRequest]]:
        async with ScriptedService(
            always(script) if isinstance(script, bytes) else script, tls
        ) as service:
            section = ApiProviderSettings.model_validate({"BaseUrl": service.url, **settings})
            provider = ApiProvider(section)
            try:
                answers = [
                    await provider.read_permissions(Caller(subject))
                    for subject in subjects or ("ann",)
                ]
            finally:
                await provider.close()
            return answers, service.requests

    return asyncio.run(run())


def test_the_permissions_of_the_answer_are_taken() -> None:
    answers, _requests = ask(GOOD)
    assert answers == [{"models/read", "query/*"}]


@pytest.mark.parametrize(
    "kind",
    [
        "application/json",
        "Application/JSON; charset=utf-8",
        "application/json ;charset=utf-8",
        "application/vnd.example.v1+json",
    ],
)
def test_every_name_of_json_is_known(kind: str) -> None:
    answers, _requests = ask(GOOD.replace(b"application/json", kind.encode()))
    assert answers == [{"models/read", "query/*"}]


def test_an_empty_list_is_an_answer_too(caplog: pytest.LogCaptureFixture) -> None:
    answers, _requests = ask(render_reply({"permissions": [], "more": {"is": "ignored"}}))
    assert answers == [frozenset()]
    assert not caplog.records


def test_subject_and_resource_go_into_the_query_encoded() -> None:
    _answers, (request,) = ask(GOOD, "a&b=c/ü", ResourceName="my graph")
    assert request.method == "GET"
    assert request.target == (
        "/api/v1/permissions/check?scopeType=resource&scopeId=my%20graph&userId=a%26b%3Dc%2F%C3%BC"
        "&graph=service"
    )


def test_a_query_of_the_endpoint_is_kept() -> None:
    _answers, (request,) = ask(GOOD, CheckEndpoint="/check?v=1")
    assert request.target == (
        "/check?v=1&scopeType=resource&scopeId=default&userId=ann&graph=service"
    )


def test_subject_and_resource_go_into_the_placeholders_encoded() -> None:
    _answers, (request,) = ask(
        GOOD, "../../{resourceName}", CheckEndpoint="/r/{resourceName}/u/{userId}"
    )
    assert request.target == "/r/default/u/..%2F..%2F%7BresourceName%7D"


def test_the_path_of_the_base_url_is_kept() -> None:
    async def run() -> str:
        async with ScriptedService(always(GOOD)) as service:
            provider = ApiProvider(ApiProviderSettings(base_url=f"{service.url}/control/"))
            await provider.read_permissions(Caller("ann"))
            await provider.close()
            return service.requests[0].target

    assert asyncio.run(run()).startswith("/control/api/v1/permissions/check?")


def test_the_bearer_token_is_sent_only_when_set() -> None:
    _answers, (request,) = ask(GOOD, BearerToken="s3cret")
    assert request.headers["authorization"] == "Bearer s3cret"
    _answers, (request,) = ask(GOOD)
    assert "authorization" not in request.headers


def test_nothing_compressed_is_asked_for() -> None:
    _answers, (request,) = ask(GOOD)
    assert request.headers["accept-encoding"] == "identity"


def test_no_cookie_of_the_service_is_sent_back() -> None:
    answer = GOOD.replace(b"\r\n", b"\r\nSet-Cookie: session=ann; Path=/\r\n", 1)
    _answers, requests = ask(answer, "ann", "bob")
    assert [request.headers.get("cookie") for request in requests] == [None, None]


def test_a_connection_serves_many_calls() -> None:
    async def run() -> tuple[int, int]:
        async with ScriptedService(always(GOOD)) as service:
            provider = ApiProvider(ApiProviderSettings(base_url=service.url, max_connections=2))
            for _round in range(3):
                callers = [Caller(f"user {number}") for number in range(8)]
                await asyncio.gather(*map(provider.read_permissions, callers))
            await provider.close()
            return service.connections, len(service.requests)

    assert asyncio.run(run()) == (2, 24)


def test_a_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert ask(GOOD)[0] == [{"models/read", "query/*"}]


def test_a_redirect_is_not_followed() -> None:
    headers = {"Location": "/api/v1/other", "Content-Type": "application/json"}
    moved = render_reply({"permissions": ["models/read"]}, status="302 Found", headers=headers)
    answers, requests = ask(moved)
    assert answers == [frozenset()]
    assert len(requests) == 1


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (render_reply({}, status="500 Oops"), "status 500"),
        (render_reply(b"x", headers={"Content-Type": "text/html"}), "content type 'text/html'"),
        (
            GOOD.replace(b"\r\n", b"\r\nContent-Encoding: gzip\r\n", 1),
            "content encoding 'gzip' was not asked for",
        ),
        (render_reply(b" " * 70_000), "more than 65536 bytes"),
        (render_reply(b"{"), "not valid JSON"),
        (render_reply([]), 'not an object with an array "permissions"'),
        (render_reply({"permissions": [1]}), "a permission that is not text"),
        (b"junk\r\n\r\n", "RemoteProtocolError"),
    ],
)
def test_the_log_says_why_an_answer_was_refused(
    answer: bytes, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert ask(answer)[0] == [frozenset()]
    (record,) = caplog.records
    assert reason in vars(record)["reason"]
    assert vars(record)["subject"] == "ann"


def test_the_limit_of_an_answer_is_a_setting() -> None:
    body = json.dumps({"permissions": ["models/read"], "padding": "x" * 5000}).encode()
    assert ask(render_reply(body), MaxAnswerBytes=len(body) - 1)[0] == [frozenset()]
    assert ask(render_reply(body), MaxAnswerBytes=len(body))[0] == [{"models/read"}]


def test_the_log_of_a_failure_holds_no_secret(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    ask(render_reply({}, status="500 Oops"), BearerToken="s3cret-of-the-service")
    assert "s3cret" not in caplog.text + str([vars(record) for record in caplog.records])


@pytest.mark.parametrize("subject", ["", ".", "..", "\ud800", "x" * 1025])
def test_a_subject_that_fits_in_no_address_is_not_asked_for(subject: str) -> None:
    answers, requests = ask(GOOD, subject, CheckEndpoint="/u/{userId}")
    assert answers == [frozenset()]
    assert requests == []


def test_subjects_that_cannot_be_asked_for_do_not_open_the_breaker() -> None:
    answers, requests = ask(GOOD, *[".."] * 5, "ann", BreakerFailures=2)
    assert answers[-1] == {"models/read", "query/*"}
    assert len(requests) == 1


def test_while_the_service_hangs_everything_else_goes_on() -> None:
    async def run() -> int:
        reached = asyncio.Event()

        async def hang(_request: ScriptedRequest, _writer: asyncio.StreamWriter) -> None:
            reached.set()
            await asyncio.Event().wait()

        async with ScriptedService(hang) as service:
            provider = ApiProvider(ApiProviderSettings(base_url=service.url, timeout_seconds=30))
            asked = asyncio.ensure_future(provider.read_permissions(Caller("ann")))
            await reached.wait()  # served by this same loop
            turns = 0
            while turns < 1000:
                await asyncio.sleep(0)
                turns += 1
            assert not asked.done()
            await provider.close()
            assert await asked == frozenset()
            return turns

    assert asyncio.run(run()) == 1000


@given(st.text(max_size=12))
def test_no_subject_leaves_its_place_in_the_address(subject: str) -> None:
    section = ApiProviderSettings(
        base_url="https://service", check_endpoint="/u/{userId}/of/{resourceName}"
    )
    try:
        url = render_url(section, subject)
    except AnswerRefusedError:
        surrogate = any("\ud800" <= character <= "\udfff" for character in subject)
        assert surrogate or subject in ("", ".", "..")
        return
    assert url.count("/") == 6
    assert url.startswith("https://service/u/")
    assert url.endswith("/of/default")
    assert not set(url) & set("?#{} \\")


@pytest.mark.parametrize(
    ("endpoint", "url"),
    [
        ("/check", "https://s/check?scopeType=resource&scopeId=my-graph&userId=u"),
        ("/u/{userId}/of/{resourceName}", "https://s/u/u/of/my-graph"),
    ],
)
def test_a_hosted_graph_is_asked_about_by_its_own_id(endpoint: str, url: str) -> None:
    section = ApiProviderSettings(
        base_url="https://s", check_endpoint=endpoint, resource_name="another"
    )
    assert render_url(section, "u", "my-graph") == url


@pytest.mark.parametrize("name", ["default", "campus", "_own", "my graph"])
def test_the_services_own_graph_is_never_asked_about_as_a_hosted_one(name: str) -> None:
    section = ApiProviderSettings(base_url="https://s", resource_name=name)
    own, hosted = render_url(section, "u"), render_url(section, "u", name)
    assert own == f"{hosted}&graph=service"
    assert "graph=" not in hosted


@pytest.mark.parametrize(
    ("endpoint", "name", "severity"),
    [
        ("/api/v1/permissions/check", "default", "fine"),
        ("/check?scopeType=resource&scopeId={resourceName}&userId={userId}", "default", "warning"),
        ("/of/{resourceName}/users/{userId}", "campus", "warning"),
        ("/of/{resourceName}/users/{userId}", "_own", "fine"),
        ("/users/{userId}", "default", "fine"),
    ],
)
def test_the_check_says_when_a_tenant_could_choose_the_name_of_the_own_graph(
    endpoint: str, name: str, severity: str
) -> None:
    section = ApiProviderSettings(
        base_url="http://127.0.0.1:9", check_endpoint=endpoint, resource_name=name
    )
    (found,) = (each for each in twinframe_findings(section) if each.check == "access")
    assert found.severity == severity
    assert name in found.message
    assert ("ResourceName" in found.fix) == (severity == "warning")


def test_providers_of_many_graphs_share_the_authorities_they_trust() -> None:
    section = ApiProviderSettings(base_url="https://s")
    first, second = (twinframe_permission_provider(section, resource=name) for name in "ab")
    assert isinstance(first, ApiProvider)
    assert isinstance(second, ApiProvider)
    assert _load_trust("") is _load_trust("")
    asyncio.run(first.close())
    asyncio.run(second.close())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["permissions", "Permissions", "a"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        JSON.map(lambda value: json.dumps(value).encode())
        | st.binary(max_size=40)
        | st.lists(st.text(max_size=5), max_size=4).map(
            lambda texts: json.dumps({"permissions": texts}).encode()
        ),
        min_size=1,
        max_size=20,
    )
)
def test_of_any_body_exactly_a_list_of_texts_grants(bodies: list[bytes]) -> None:
    left = iter(bodies)

    async def respond(_request: ScriptedRequest, writer: asyncio.StreamWriter) -> None:
        writer.write(render_reply(next(left)))
        await writer.drain()

    answers, requests = ask(respond, *["ann"] * len(bodies), BreakerFailures=1000)
    assert len(requests) == len(bodies)
    for body, answer in zip(bodies, answers, strict=True):
        if answer:
            stated = json.loads(body)["permissions"]
            assert isinstance(stated, list)
            assert answer == set(stated)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.binary(max_size=60), min_size=1, max_size=10))
def test_whatever_bytes_are_answered_nothing_is_granted(answers: list[bytes]) -> None:
    left = iter(answers)

    async def respond(_request: ScriptedRequest, writer: asyncio.StreamWriter) -> None:
        writer.write(next(left))
        await writer.drain()
        writer.close()

    subjects = ["ann"] * len(answers)
    assert ask(respond, *subjects, BreakerFailures=1000)[0] == [frozenset()] * len(answers)


def build_tls(name: str, folder: Path) -> tuple[ssl.SSLContext, str]:
    """A server's side of TLS for this name, and the file with its authority's certificate."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    return context, str(folder / "ca.pem")


@pytest.mark.parametrize(
    ("name", "trusted", "granted"),
    [("localhost", True, True), ("localhost", False, False), ("other.example", True, False)],
)
def test_only_a_certificate_of_the_trusted_authority_and_the_name_is_believed(
    name: str, trusted: bool, granted: bool, tmp_path: Path
) -> None:
    tls, ca_file = build_tls(name, tmp_path)
    answers, requests = ask(GOOD, tls=tls, **({"CaFile": ca_file} if trusted else {}))
    assert bool(answers[0]) is granted
    assert len(requests) == granted


@pytest.mark.parametrize("content", [None, b"no certificate"])
def test_a_ca_file_that_is_none_stops_the_start(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SettingsError, match="CaFile="):
        ApiProvider(ApiProviderSettings(base_url="https://x", ca_file=str(path)))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("BaseUrl", "control.example"),
        ("BaseUrl", "http://control.example"),
        ("BaseUrl", "https://user@control.example"),
        ("BaseUrl", "https://control.example?x=1"),
        ("BaseUrl", "https://control.example#x"),
        ("CheckEndpoint", "check"),
        ("CheckEndpoint", "/check/{user}"),
        ("CheckEndpoint", "/check#x"),
        ("TimeoutSeconds", 0),
        ("ResourceName", ""),
        ("CacheExpirationMinutes", -1),
        ("CacheExpirationMinutes", "forever"),
        ("MaxConnections", 0),
        ("BreakerFailures", 0),
        ("BreakerSeconds", 0),
        ("TokenEndpoint", "https://issuer.example/token"),
        ("ClientId", "me"),
        ("ClientSecret", "s3cret"),
    ],
)
def test_wrong_settings_are_refused(key: str, value: object) -> None:
    with pytest.raises(ValueError, match=key):
        ApiProviderSettings.model_validate({"BaseUrl": "https://x", key: value})


def test_two_kinds_of_credentials_are_refused() -> None:
    grant = {"TokenEndpoint": "https://x/token", "ClientId": "me", "ClientSecret": "s3cret"}
    ApiProviderSettings.model_validate({"BaseUrl": "https://x", **grant})
    with pytest.raises(ValueError, match="exclude each other"):
        ApiProviderSettings.model_validate(
            {"BaseUrl": "https://x", "BearerToken": "token", **grant}
        )


def test_plain_http_to_another_machine_must_be_allowed() -> None:
    allowed = ApiProviderSettings(base_url="http://control.example", allow_plain_http=True)
    assert allowed.base_url == "http://control.example"


def test_the_plugin_builds_a_provider_from_its_section() -> None:
    plugin = load_plugin(build_manager(), PERMISSION_PROVIDER, "api")
    assert read_section_class(plugin) is ApiProviderSettings
    provider = plugin.call(
        "twinframe_permission_provider",
        settings=ApiProviderSettings(base_url="https://x"),
        authorization=None,
        resource="",
    )
    assert isinstance(provider, ApiProvider)
    asyncio.run(provider.close())
