"""Sites beside the API: validators, codings, headers of safety; open, and in nobody's way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.http.conftest import Client
from tests.unit.http.test_access import ACCESS, ClaimedPermissions, NamedCaller
from twinframe.access.gate import Gate
from twinframe.access.rates import CallerRates, Kind, SharedBuckets
from twinframe.hooks.sites import Content, Site, SiteRequest, build_content
from twinframe.http.application import build_application
from twinframe.http.sites import SiteServer
from twinframe.settings import Settings
from twinframe.settings.operations import RateLimitSettings, RateSettings

PAGE = build_content(b"<p>hello</p>", "text/html; charset=utf-8", policy="default-src 'self'")
SCRIPT = build_content(
    b"let a = 1;",
    "text/javascript; charset=utf-8",
    codings={"gzip": b"zipped", "br": b"squeezed"},
    lasting=True,
)
BROKEN = build_content(b"<p>not yet</p>", "text/html; charset=utf-8", status=503)


class Notes(Site):
    """Has a page, a script, a page that is not ready; notes what it is asked for."""

    def __init__(self, *, is_start: bool = False) -> None:
        self.asked: list[SiteRequest] = []
        self._is_start = is_start

    @property
    def is_start(self) -> bool:
        return self._is_start

    @property
    def path(self) -> str:
        return "/notes"

    async def read(self, request: SiteRequest) -> Content | None:
        self.asked.append(request)
        contents = {(): PAGE, ("a", "app.js"): SCRIPT, ("later",): BROKEN}
        return contents.get(request.segments)


@pytest.fixture
def site() -> Notes:
    return Notes()


@pytest.fixture
def open_client(graph: Any, site: Notes) -> Callable[..., Client]:
    def build(
        gate: Gate | None = None, rates: CallerRates | None = None, **sections: Any
    ) -> Client:
        settings = Settings.model_validate(sections)
        mounted = [SiteServer([site])]
        return Client(build_application(graph, settings, gate=gate, mounted=mounted, rates=rates))

    return build


@pytest.fixture
def client(open_client: Callable[..., Client]) -> Client:
    return open_client()


def test_a_page_is_asked_for_anew_and_a_lasting_file_is_kept(client: Client) -> None:
    page = client.send("GET", "/notes/")
    assert (page.status, page.body) == (200, b"<p>hello</p>")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["cache-control"] == "no-cache"
    assert page.headers["content-length"] == "12"
    assert "vary" not in page.headers
    script = client.send("GET", "/notes/a/app.js")
    assert script.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert script.body == b"let a = 1;"


def test_every_answer_of_a_site_is_guarded_by_its_headers(client: Client) -> None:
    for path, policy in (
        ("/notes/", "default-src 'self'"),
        ("/notes/a/app.js", "default-src 'none'; frame-ancestors 'none'"),
        ("/notes/later", "default-src 'none'; frame-ancestors 'none'"),
    ):
        headers = client.send("GET", path).headers
        assert headers["content-security-policy"] == policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "x-request-id" in headers


def test_who_has_a_version_gets_304_and_no_body(client: Client) -> None:
    etag = client.send("GET", "/notes/").headers["etag"]
    for known in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        answer = client.send("GET", "/notes/", headers={"if-none-match": known})
        assert (answer.status, answer.body) == (304, b""), known
        assert answer.headers["etag"] == etag
        assert answer.headers["cache-control"] == "no-cache"
        assert "content-length" not in answer.headers
    for known in ('"other"', etag.strip('"'), ""):
        assert client.send("GET", "/notes/", headers={"if-none-match": known}).status == 200


def test_another_content_has_another_etag() -> None:
    assert build_content(b"a", "text/plain").etag == build_content(b"a", "text/html").etag
    assert build_content(b"a", "text/plain").etag != build_content(b"b", "text/plain").etag


@pytest.mark.parametrize("text", ["a\r\nset-cookie: b", "a\nb", "https://bücher.example", "a\0"])
def test_content_whose_headers_would_break_cannot_be_made(text: str) -> None:
    with pytest.raises(ValueError, match="cannot stand in a header"):
        build_content(b"a", "text/html", policy=text)
    with pytest.raises(ValueError, match="cannot stand in a header"):
        build_content(b"a", text)


@pytest.mark.parametrize(
    ("accepted", "coding", "body"),
    [
        ("gzip, deflate, br, zstd", "br", b"squeezed"),
        ("gzip", "gzip", b"zipped"),
        ("GZIP;q=0.1", "gzip", b"zipped"),
        ("br;q=0, gzip;q=1.0", "gzip", b"zipped"),
        ("br; q=0.000, gzip;q=0.0", None, b"let a = 1;"),
        ("identity", None, b"let a = 1;"),
        ("*", None, b"let a = 1;"),
        ("", None, b"let a = 1;"),
        (None, None, b"let a = 1;"),
    ],
)
def test_a_client_gets_the_best_coding_that_it_takes(
    client: Client, accepted: str | None, coding: str | None, body: bytes
) -> None:
    headers = {} if accepted is None else {"accept-encoding": accepted}
    answer = client.send("GET", "/notes/a/app.js", headers=headers)
    assert (answer.status, answer.body) == (200, body)
    assert answer.headers.get("content-encoding") == coding
    assert answer.headers["vary"] == "Accept-Encoding"
    assert answer.headers["content-length"] == str(len(body))
    etag = answer.headers["etag"]
    assert client.send(
        "GET", "/notes/a/app.js", headers={**headers, "if-none-match": etag}
    ).status == (304)


def test_each_coding_has_an_etag_of_its_own(client: Client) -> None:
    etags = {
        client.send("GET", "/notes/a/app.js", headers={"accept-encoding": coding}).headers["etag"]
        for coding in ("br", "gzip", "identity")
    }
    assert len(etags) == 3


@given(st.text(st.characters(codec="latin-1", exclude_categories=["Cc"]), max_size=40))
def test_no_header_of_a_client_breaks_a_site(text: str) -> None:
    client = Client(build_application(object(), Settings(), mounted=[SiteServer([Notes()])]))  # type: ignore[arg-type]  # nothing asks the graph
    headers = {"accept-encoding": text, "if-none-match": text}
    assert client.send("GET", "/notes/a/app.js", headers=headers).status in (200, 304)


def test_head_says_what_get_would(client: Client) -> None:
    for path in ("/notes/", "/notes/a/app.js", "/notes/later", "/notes"):
        got, asked = client.send("GET", path), client.send("HEAD", path)
        told = {"x-request-id"}
        assert asked.body == b""
        assert asked.status == got.status
        assert {k: v for k, v in asked.headers.items() if k not in told} == {
            k: v for k, v in got.headers.items() if k not in told
        }


def test_a_site_is_only_read(client: Client) -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        answer = client.send(method, "/notes/", b"{}")
        assert (answer.status, answer.code) == (405, "MethodNotAllowed")
        assert answer.headers["allow"] == "GET, HEAD, OPTIONS"
    answer = client.send("OPTIONS", "/notes/")
    assert (answer.status, answer.headers["allow"]) == (204, "GET, HEAD, OPTIONS")


def test_what_a_site_does_not_have_is_answered_as_elsewhere(client: Client) -> None:
    answer = client.send("GET", "/notes/a/missing.js")
    assert (answer.status, answer.code) == (404, "NotFound")
    assert answer.json["error"]["message"] == "/notes has nothing at 'a/missing.js'."


def test_a_page_that_is_not_ready_is_no_version_to_keep(client: Client) -> None:
    answer = client.send("GET", "/notes/later", headers={"if-none-match": "*"})
    assert (answer.status, answer.body) == (503, b"<p>not yet</p>")


@pytest.mark.parametrize(
    ("asked", "place"),
    [
        ("/notes", "/notes/"),
        ("/NOTES?a=1&b=%20", "/notes/?a=1&b=%20"),
        ("/api/notes", "/api/notes/"),
        ("/API/notes?x", "/API/notes/?x"),
    ],
)
def test_the_path_without_its_slash_leads_to_the_one_with_it(
    client: Client, site: Notes, asked: str, place: str
) -> None:
    answer = client.send("GET", asked)
    assert (answer.status, answer.headers["location"]) == (307, place)
    assert site.asked == []


def test_a_site_knows_the_base_path_it_was_called_under(client: Client, site: Notes) -> None:
    client.send("GET", "/notes/own/models/")
    client.send("GET", "/Api/Notes/own%2Fx/%C3%A4?q=1")
    assert site.asked == [
        SiteRequest("", ("own", "models")),
        SiteRequest("/Api", ("own/x", "ä")),
    ]


def test_names_that_lead_out_of_a_folder_come_to_no_site(client: Client, site: Notes) -> None:
    for path in ("/notes/../health/live", "/notes/%2e%2e/x", "/notes/./a"):
        assert client.send("GET", path).status == 400
    assert site.asked == []


def test_a_site_is_open_while_the_api_asks_for_credentials(
    open_client: Callable[..., Client],
) -> None:
    guarded = open_client(Gate(NamedCaller(), ClaimedPermissions(), lambda _entry: None), **ACCESS)
    for base in ("", "/api"):
        assert guarded.send("GET", f"{base}/notes/").status == 200
        assert guarded.send("GET", f"{base}/notes/nothing").status == 404
        assert guarded.send("GET", f"{base}/notesx").status == 401
        assert guarded.send("GET", f"{base}/models").status == 401


def test_a_site_spends_nothing_of_a_callers_rate(open_client: Callable[..., Client]) -> None:
    one = RateSettings.model_validate({kind.value: 1 for kind in Kind})
    settings = RateLimitSettings(enabled=True, per_second=one, burst_seconds=1)
    limited = open_client(rates=CallerRates(settings, SharedBuckets(10), clock=lambda: 5.0))
    assert [limited.send("GET", "/notes/").status for _ in range(5)] == [200] * 5
    assert limited.send("GET", "/digitaltwins/a").status == 404
    assert limited.send("GET", "/digitaltwins/a").status == 429


HTML = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@pytest.mark.parametrize(("asked", "place"), [("/", "/notes/"), ("/api", "/api/notes/")])
def test_the_root_leads_browsers_to_the_start_and_answers_others_as_before(
    graph: Any, asked: str, place: str
) -> None:
    mounted = [SiteServer([Notes(is_start=True)])]
    client = Client(build_application(graph, Settings(), mounted=mounted))
    for method in ("GET", "HEAD"):
        led = client.send(method, asked, headers={"accept": HTML})
        assert (led.status, led.headers["location"]) == (307, place)
        assert "Accept" in led.headers["vary"]
    for accept in ("*/*", "application/json", "", "text/*;q=0.5, application/html"):
        answer = client.send("GET", asked, headers={"accept": accept})
        assert (answer.status, answer.code) == (404, "NotFound"), accept
    assert client.send("GET", asked).status == 404
    assert client.send("POST", asked, b"{}", headers={"accept": HTML}).status == 404


def test_without_a_start_the_root_is_no_page_for_browsers_either(client: Client) -> None:
    answer = client.send("GET", "/", headers={"accept": HTML})
    assert (answer.status, answer.code) == (404, "NotFound")


def test_a_site_is_no_operation(client: Client) -> None:
    paths = client.send("GET", "/openapi.json").json["paths"]
    assert not [path for path in paths if path.startswith("/notes")]
