"""The explorer as a site: page, files, what it is told, and what its policy lets it call."""

from __future__ import annotations

import asyncio
import gzip
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from twinframe.errors import SettingsError
from twinframe.hooks.sites import Content, ServiceFacts, SiteRequest
from twinframe_explorer.plugin import twinframe_routes
from twinframe_explorer.settings import ExplorerSettings
from twinframe_explorer.site import ExplorerSite, build_policy


def read(site: ExplorerSite, path: str = "", base: str = "") -> Content | None:
    segments = tuple(path.split("/")) if path else ()
    return asyncio.run(site.read(SiteRequest(base, segments)))


def build(built: Path, service: ServiceFacts, **settings: Any) -> ExplorerSite:
    return ExplorerSite(ExplorerSettings(directory=str(built), **settings), service)


def configuration(site: ExplorerSite, base: str = "") -> Any:
    content = read(site, "configuration.json", base)
    assert content is not None
    assert content.media_type == "application/json"
    return orjson.loads(content.body)


def test_it_is_served_unless_it_is_switched_off(service: ServiceFacts) -> None:
    (site,) = twinframe_routes(ExplorerSettings(), service)
    assert site.path == "/explorer"
    assert twinframe_routes(ExplorerSettings(enabled=False), service) == ()


def test_it_is_where_the_root_leads_browsers(service: ServiceFacts) -> None:
    (site,) = twinframe_routes(ExplorerSettings(), service)
    assert site.is_start


def test_the_sample_is_an_import_file_of_the_campus(built: Path, service: ServiceFacts) -> None:
    site = build(built, service)
    sample = read(site, "sample.ndjson")
    assert sample is not None
    assert read(site, "sample.ndjson") is sample
    assert (sample.media_type, sample.status) == ("application/x-ndjson", 200)
    assert gzip.decompress(sample.codings["gzip"]) == sample.body
    sections: dict[str, int] = {}
    for line in map(orjson.loads, sample.body.splitlines()):
        if "Section" in line:
            sections[line["Section"]] = 0
        else:
            sections[list(sections)[-1]] += 1
    assert sections == {"Header": 1, "Models": 20, "Twins": 1978, "Relationships": 3902}


@pytest.mark.parametrize(("base", "href"), [("", "/explorer/"), ("/api", "/api/explorer/")])
def test_every_view_is_the_page_with_the_address_of_its_links(
    built: Path, service: ServiceFacts, base: str, href: str
) -> None:
    site = build(built, service)
    pages = [read(site, path, base) for path in ("", "own/models", "own/query", "x/y/z", "a.b")]
    assert all(page is not None and page.status == 200 for page in pages)
    (text,) = {page.body.decode() for page in pages if page}
    assert f'<head><base href="{href}">' in text
    assert text.index("<base") < text.index("icon.svg")
    assert not any(page.lasting for page in pages if page)


def test_a_base_path_cannot_break_out_of_its_attribute(built: Path, service: ServiceFacts) -> None:
    page = read(build(built, service), "", "/a\"b<c>&'")
    assert page is not None
    assert b'<base href="/a&quot;b&lt;c&gt;&amp;&#x27;/explorer/">' in page.body


def test_files_have_their_types_and_their_compressed_forms(
    built: Path, service: ServiceFacts
) -> None:
    site = build(built, service)
    script = read(site, "assets/index-abc.js")
    assert script is not None
    assert (script.body, script.lasting) == (b"let a;", True)
    assert script.media_type == "text/javascript; charset=utf-8"
    assert script.codings == {"br": b"squeezed", "gzip": b"zipped"}
    style, icon = read(site, "assets/index-def.css"), read(site, "icon.svg")
    assert style is not None
    assert (style.media_type, style.codings) == ("text/css; charset=utf-8", {})
    assert icon is not None
    assert (icon.media_type, icon.lasting) == ("image/svg+xml", False)
    assert "script-src 'self'" in script.policy  # a worker has the policy of its file


def test_a_missing_script_is_no_page(built: Path, service: ServiceFacts) -> None:
    site = build(built, service)
    assert read(site, "assets/index-old.js") is None
    assert read(site, "assets") is None


def test_an_address_names_no_file_of_the_machine(
    built: Path, service: ServiceFacts, tmp_path: Path
) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    site = build(built, service)
    for segments in (("../secret.txt",), ("assets", "../../secret.txt"), (str(tmp_path),)):
        content = asyncio.run(site.read(SiteRequest("", segments)))
        assert content is None or b"secret" not in content.body


def test_where_no_page_is_built_one_line_says_how_to_get_it(
    built: Path, service: ServiceFacts, tmp_path: Path
) -> None:
    folder = tmp_path / "later"
    site = build(folder, service)
    for path in ("", "own/query", "assets/index-abc.js"):
        page = read(site, path)
        assert page is not None
        assert page.status == 503
        assert b"make explorer" in page.body
        assert b"pip install" in page.body
    assert configuration(site)["version"] == "1.2.3"
    shutil.copytree(built, folder)
    page = read(site)
    assert page is not None
    assert page.status == 200


def test_asking_for_a_page_that_is_not_there_reads_no_other_file(
    built: Path, service: ServiceFacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    (built / "assets/index-abc.js").unlink()
    monkeypatch.setattr(Path, "read_bytes", lambda path: pytest.fail(f"{path} was read"))
    page = read(build(built, service))
    assert page is not None
    assert page.status == 503


def test_a_build_that_is_under_way_is_not_served(built: Path, service: ServiceFacts) -> None:
    (built / "assets/index-abc.js").rename(built / "kept")
    site = build(built, service)
    page = read(site)
    assert page is not None
    assert page.status == 503
    (built / "kept").rename(built / "assets/index-abc.js")
    page = read(site)
    assert page is not None
    assert page.status == 200


# --- what the page is told ------------------------------------------------------------------------


def test_the_page_is_told_of_the_service(built: Path, service: ServiceFacts) -> None:
    told = configuration(build(built, service, client_id="page"), "/api")
    assert told == {
        "version": "1.2.3",
        "base": "/api",
        "authentication": True,
        "signIn": {
            "authority": "https://id.example/tenant",
            "clientId": "page",
            "scopes": ["openid", "twins", "access:platform"],
            "audience": "https://twins.example",
        },
        "audience": "https://twins.example",
        "controlAudience": "https://control.example",
        "control": "https://control.example/api/v1",
        "hosting": True,
        "events": False,
        "heartbeat": 15.0,
    }


def test_settings_of_the_explorer_come_before_those_of_the_service(
    built: Path, service: ServiceFacts
) -> None:
    site = build(
        built,
        service,
        client_id="page",
        authority="https://login.example",
        scopes=("a",),
        audience="b",
    )
    assert configuration(site)["signIn"] == {
        "authority": "https://login.example",
        "clientId": "page",
        "scopes": ["a"],
        "audience": "b",
    }


def test_without_an_id_or_without_tokens_nobody_signs_in(
    built: Path, service: ServiceFacts
) -> None:
    assert configuration(build(built, service))["signIn"] is None
    keys = replace(service, takes_tokens=False)
    assert configuration(build(built, keys, client_id="page"))["signIn"] is None
    nobody = replace(service, asks=False, takes_tokens=False, authority="", control="")
    told = configuration(build(built, nobody, client_id="page"))
    assert (told["authentication"], told["signIn"], told["control"]) == (False, None, None)


def test_the_scopes_of_a_control_plane_are_asked_for_where_there_is_one(
    built: Path, service: ServiceFacts
) -> None:
    site = build(built, replace(service, control=""), client_id="page")
    assert configuration(site)["signIn"]["scopes"] == ["openid", "twins"]


# --- the policy -----------------------------------------------------------------------------------


def read_policy(settings: ExplorerSettings, service: ServiceFacts) -> dict[str, str]:
    pairs = (part.strip().partition(" ") for part in build_policy(settings, service).split(";"))
    return {name: value for name, _, value in pairs}


def test_the_policy_allows_nothing_inline_and_nothing_of_others(service: ServiceFacts) -> None:
    policy = read_policy(ExplorerSettings(client_id="page"), service)
    assert policy["default-src"] == "'none'"
    assert policy["frame-ancestors"] == "'none'"
    for name in ("script-src", "style-src", "worker-src", "base-uri"):
        assert policy[name] == "'self'"
    assert "unsafe" not in str(policy)


@pytest.mark.parametrize(
    ("settings", "change", "origins"),
    [
        ({}, {"control": ""}, "'self'"),
        ({}, {"control": "/api/v1"}, "'self'"),
        ({}, {}, "'self' https://control.example"),
        ({"client_id": "x"}, {"control": "/api/v1"}, "'self' https://id.example"),
        (
            {"client_id": "x", "authority": "http://127.0.0.1:9000/a"},
            {"control": ""},
            "'self' http://127.0.0.1:9000",
        ),
        (
            {"client_id": "x", "origins": ("https://token.example:8443",)},
            {"control": ""},
            "'self' https://id.example https://token.example:8443",
        ),
    ],
)
def test_the_page_may_call_whom_it_has_to(
    service: ServiceFacts, settings: Any, change: Any, origins: str
) -> None:
    policy = read_policy(ExplorerSettings(**settings), replace(service, **change))
    assert policy["connect-src"] == origins


@pytest.mark.parametrize(
    "origin", ["https://a.example/", "a.example", "*", "https://a; x", "data:"]
)
def test_only_origins_are_let_into_the_policy(origin: str) -> None:
    with pytest.raises(ValueError, match="is no origin"):
        ExplorerSettings(origins=(origin,))


def test_an_authority_is_a_safe_url() -> None:
    with pytest.raises(ValueError, match="https"):
        ExplorerSettings(authority="http://id.example")


def test_the_editor_is_told_the_words_of_both_languages(built: Path, service: ServiceFacts) -> None:
    content = read(build(built, service), "language.json")
    assert content is not None
    words = orjson.loads(content.body)
    assert "MATCH" in words["cypher"]["keywords"]
    assert "CREATE" in words["cypher"]["writing"]
    assert "SELECT" in words["adt"]["keywords"]
    by_name = {one["name"]: one for one in words["cypher"]["functions"]}
    assert by_name["substring"] == {
        "name": "substring",
        "signature": "substring(text, start, length?) → string",
        "documentation": "From an offset, so many characters.",
        "group": "Strings",
        "aliases": [],
        "aggregate": False,
    }
    assert {one["name"] for one in words["adt"]["functions"]} >= {"IS_OF_MODEL", "COUNT"}


@pytest.mark.parametrize(
    "host",
    ["bücher.example", "a;script-src.example", "a,b.example", "*.example", "u:p@a.example", "[x"],
)
@pytest.mark.parametrize("key", ["Authentication__Authority", "Control__PublicUrl"])
def test_an_address_that_would_bend_the_policy_stops_the_start(
    built: Path, service: ServiceFacts, key: str, host: str
) -> None:
    names = {"Authentication__Authority": "authority", "Control__PublicUrl": "control"}
    bent = replace(service, **{names[key]: f"https://{host}/path"})
    with pytest.raises(SettingsError, match=f"^{key}=https://"):
        build(built, bent, client_id="page")


def test_an_issuer_that_is_no_address_is_not_called(service: ServiceFacts) -> None:
    policy = read_policy(
        ExplorerSettings(client_id="page"), replace(service, authority="our-issuer", control="")
    )
    assert policy["connect-src"] == "'self'"
