"""The merge of settings file and environment, and what is said about everything wrong in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, SecretStr

from twinframe.errors import InvalidArgument, PluginError, SettingsError
from twinframe.model.ids import parse_model_id
from twinframe.settings import (
    Configuration,
    PluginSection,
    PluginSections,
    Section,
    Settings,
    load_settings,
)
from twinframe.settings.shape import KeyPath, read_keys, render_key
from twinframe.settings.sources import find_near_misses, iterate_leaves


class PondSettings(Section):
    """A storage plugin's section, for these tests."""

    directory: str = Field(default="var", description="Where the pond lies.")
    durability: str = Field(default="full", description="How deep.")
    token: SecretStr = Field(default=SecretStr(""), description="Opens the gate.", max_length=8)
    depth: Annotated[int, Field(ge=1, le=9)] = Field(default=3, description="Metres.")


class NeedySettings(Section):
    """A section with a key that has no default."""

    base_url: str = Field(description="Where to ask.")


def plugin_sections(
    *, chosen: str = "pond", provider: str | None = None
) -> dict[str, PluginSections]:
    def find_storage(name: str) -> PluginSection | None:
        if name.casefold() == "pond":
            return PluginSection("Pond", PondSettings)
        if name.casefold() == "plain":
            return None
        raise PluginError(f"no {name}; pip install twinframe-storage-{name}")

    def find_provider(name: str) -> PluginSection | None:
        return PluginSection("ApiProvider", NeedySettings)

    return {
        "Storage": PluginSections("", find_storage, lambda: ["pond", "plain"], lambda _s: chosen),
        "Authorization": PluginSections(
            "Provider", find_provider, lambda: ["Api"], lambda _s: provider
        ),
    }


def load(environ: dict[str, str], file: Path | None = None, **options: str) -> Configuration:
    return load_settings(file, environ, plugin_sections(**options))


def problems_of(environ: dict[str, str], file: Path | None = None, **options: str) -> list[str]:
    with pytest.raises((SettingsError, PluginError)) as caught:
        load(environ, file, **options)
    return [detail.message for detail in caught.value.details]


def write(tmp_path: Path, document: object) -> Path:
    path = tmp_path / "settings.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_without_file_and_environment_every_value_is_its_default() -> None:
    assert load_settings(None, {}).settings == Settings()


def test_the_environment_wins_over_the_file_and_keys_are_case_insensitive(tmp_path: Path) -> None:
    file = write(tmp_path, {"server": {"WORKERS": 3, "bind": "127.0.0.1:1"}})
    loaded = load({"SERVER__Workers": "5"}, file)
    assert loaded.settings.server.workers == 5
    assert loaded.settings.server.bind == "127.0.0.1:1"
    assert loaded.origins["Server", "Workers"] == "environment SERVER__Workers"
    assert loaded.origins["Server", "Bind"] == f"{file}#/server/bind"


def test_the_file_named_in_the_environment_is_read(tmp_path: Path) -> None:
    file = write(tmp_path, {"Graph": {"PageSize": 7}})
    assert load({"TWINFRAME_CONFIG": str(file)}).settings.graph.page_size == 7


def test_list_indexes_replace_and_extend_the_list_of_the_file(tmp_path: Path) -> None:
    file = write(tmp_path, {"Authorization": {"RequiredScopes": ["a", "b"]}})
    scopes = "Authorization__RequiredScopes"
    loaded = load({f"{scopes}__2": "d", f"{scopes}__1": "c"}, file)
    assert loaded.settings.authorization.required_scopes == ("a", "c", "d")


def test_list_indexes_are_taken_by_number_beyond_nine() -> None:
    environ = {f"Authorization__RequiredScopes__{i}": f"s{i}" for i in range(12)}
    scopes = load(environ).settings.authorization.required_scopes
    assert scopes == tuple(f"s{i}" for i in range(12))


def test_a_gap_in_list_indexes_is_refused() -> None:
    (problem,) = problems_of({"Cors__Origins__1": "b"})
    assert "the next index is 0" in problem


def test_a_list_or_a_section_can_be_one_json_value() -> None:
    loaded = load(
        {
            "Authorization__RequiredScopes": '["a", "b"]',
            "Server__Tls": '{"certificate": "c", "Key": "k"}',
        }
    )
    assert loaded.settings.authorization.required_scopes == ("a", "b")
    assert loaded.settings.server.tls.key == "k"


def test_telemetry_is_chosen_by_words_and_models() -> None:
    loaded = load({"History__Telemetry": "historized, dtmi:com:example:Room;1"})
    assert loaded.settings.history.telemetry == ("historized", "dtmi:com:example:Room;1")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("Historized", "; did you mean 'historized'? It"),
        ("all historised", "; did you mean 'historized'? It"),
        ("al", "; did you mean 'all'? It"),
        ("Room", ". It"),
    ],
)
def test_an_unknown_word_for_telemetry_is_refused_with_the_nearest(text: str, hint: str) -> None:
    (problem,) = problems_of({"History__Telemetry": text})
    word = text.split()[-1]
    assert f"{word!r} is unknown{hint} must be `all`, `historized` or the id of a model" in problem


def test_environment_keys_of_others_are_passed_over() -> None:
    assert (
        load({"PATH": "/bin", "Sever__Bind": "x", "SERVER": "x", "__": "x", "Npm__X": ""}).settings
        == Settings()
    )


def test_an_unknown_key_in_the_environment_names_the_nearest() -> None:
    (problem,) = problems_of({"Storage__Pond__Durabilty": "x"})
    assert problem == (
        "Storage__Pond__Durabilty (environment Storage__Pond__Durabilty) is not a key of the "
        "section Storage__Pond. Did you mean Storage__Pond__Durability?"
    )


def test_an_unknown_key_in_the_file_is_placed_by_a_json_pointer(tmp_path: Path) -> None:
    file = write(tmp_path, {"Server": {"a/b~": 1}, "Sever": {}})
    first, second = problems_of({}, file)
    assert f"({file}#/Server/a~1b~0)" in first
    assert "Did you mean Server?" in second


def test_a_bad_value_says_key_value_source_and_what_is_right() -> None:
    (problem,) = problems_of({"SERVER__WORKERS": "many"})
    assert problem == (
        "Server__Workers = 'many' (environment SERVER__WORKERS): must be a whole number, above 0, "
        "at most 256."
    )


def test_a_bad_element_of_a_list_is_shown_alone(tmp_path: Path) -> None:
    (problem,) = problems_of({}, write(tmp_path, {"Cors": {"Origins": ["a", 5]}}))
    assert problem.startswith("Cors__Origins__1 = 5 (")


def test_a_refused_secret_is_never_shown() -> None:
    (problem,) = problems_of({"Storage__Pond__Token": "much-too-long"})
    assert "much-too-long" not in problem
    assert problem.startswith("Storage__Pond__Token = *** (environment")


def test_an_unknown_key_never_shows_its_value() -> None:
    (problem,) = problems_of({"Secrets__TokenKy": "hush"})
    assert "hush" not in problem


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    file = write(tmp_path, {"Query": {"Timeout": -1}, "Nonsense": 1})
    found = problems_of({"Logging__Level": "loud", "Storage__Pond__Depth": "99"}, file)
    assert len(found) == 4


@pytest.mark.parametrize("text", ["inf", "nan", "1e999", "0", ""])
def test_a_duration_must_be_a_positive_finite_number(text: str) -> None:
    (problem,) = problems_of({"Query__Timeout": text})
    assert "must be a number, above 0" in problem


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"Server": {"Bind": "a:1", "Bind": "b:2"}}', "'Bind' stands twice"),
        ('{"Query": {"Timeout": NaN}}', "NaN is not a JSON value"),
        ("{", "not valid JSON"),
        ("[]", "one JSON object"),
        ("[" * 200_000, "not valid JSON"),
    ],
)
def test_a_file_that_is_not_plain_json_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "settings.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError, match=said):
        load({}, path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"gone\.json cannot be read"):
        load({}, tmp_path / "gone.json")


def test_two_spellings_of_one_key_are_refused(tmp_path: Path) -> None:
    assert "set the same key" in problems_of({"Server__Bind": "a:1", "server__bind": "b:1"})[0]
    file = write(tmp_path, {"Server": {"Bind": "a:1", "bind": "b:1"}})
    assert "set the same key" in problems_of({}, file)[0]


def test_a_section_given_as_a_plain_value_is_refused(tmp_path: Path) -> None:
    (problem,) = problems_of({}, write(tmp_path, {"Cors": "yes"}))
    assert "is a section and takes an object with: Origins" in problem


def test_keys_below_a_plain_value_are_refused() -> None:
    (problem,) = problems_of({"Server__Bind__Port": "1"})
    assert "Server__Bind must be text" in problem


def test_certificate_and_key_go_together() -> None:
    (problem,) = problems_of({"Server__Tls__Key": "k.pem"})
    assert problem == (
        "Server__Tls (environment Server__Tls__Key): Certificate and Key must be set together."
    )


@pytest.mark.parametrize("bind", ["8080", "localhost", "host:99999", ":80", "a:b"])
def test_a_bind_without_host_and_port_is_refused(bind: str) -> None:
    (problem,) = problems_of({"Server__Bind": bind})
    assert "must be host:port" in problem


def test_the_section_of_the_chosen_plugin_has_its_defaults() -> None:
    loaded = load({})
    assert loaded.section(("Storage", "Pond"), PondSettings) == PondSettings()
    assert ("Storage", "Pond") in loaded.sections


def test_the_section_of_a_plugin_is_read_from_file_and_environment(tmp_path: Path) -> None:
    file = write(tmp_path, {"Storage": {"pond": {"Directory": "/a", "Depth": 4}}})
    section = load({"STORAGE__POND__DEPTH": "5"}, file).section(("Storage", "Pond"), PondSettings)
    assert (section.directory, section.depth) == ("/a", 5)


def test_the_section_of_a_plugin_not_in_use_is_still_checked() -> None:
    found = problems_of({"Authorization__ApiProvider__BaseUr": "1"})
    assert "Did you mean Authorization__ApiProvider__BaseUrl?" in found[0]
    assert found[1] == "Authorization__ApiProvider__BaseUrl is not set: it must be text."


def test_the_section_of_a_missing_plugin_names_what_to_install() -> None:
    with pytest.raises(PluginError, match="pip install twinframe-storage-lake"):
        load({"Storage__lake__Depth": "1"})


def test_a_missing_chosen_plugin_names_its_setting() -> None:
    with pytest.raises(PluginError, match="Storage__Provider=lake: no lake; pip install"):
        load({}, chosen="lake")


@pytest.mark.parametrize(
    ("name", "is_id"),
    [
        ("dtmi:nope:X;1", True),
        ("dtmi:nope:X", True),  # SPEC: DTDL v3: the version is optional
        ("dtmi:nope:X_1;1.2", True),
        ("dtmi:nope:X;", False),
        ("dtmi:nope:X;01", False),
        ("dtmi:nope:X;\N{ARABIC-INDIC DIGIT ONE}", False),
        ("dtmi:nope:X;1.2.3", False),
        ("dtmi:nope::X;1", False),
        ("dtmi:nope:X_;1", False),
        ("dtmi:1:X;1", False),
        (f"dtmi:{'x' * 2041};1", True),
        (f"dtmi:{'x' * 2042};1", False),
    ],
)
def test_models_of_kept_telemetry_are_refused_as_model_ids_are(name: str, is_id: bool) -> None:
    environ = {"History__Telemetry": f"{name},dtmi:com:example:Room;1"}
    if is_id:
        assert parse_model_id(name) == load(environ).settings.history.telemetry[0]
        return
    with pytest.raises(InvalidArgument):
        parse_model_id(name)
    (problem,) = problems_of(environ)
    assert problem.startswith("History__Telemetry = ")
    assert f"{name[:100]!r} is not the id of a model, such as dtmi:com:example:Room;1." in problem


@pytest.mark.parametrize(
    ("key", "right"),
    [
        ("Ingestion__Sources__b__Servers__0", 'Ingestion__Sources__b__Servers=["..."]'),
        ("Events__Endpoints__b__Servers__0", 'Events__Endpoints__b__Servers=["..."]'),
        ("Events__Endpoints__b__Headers__X", 'Events__Endpoints__b__Headers={"X": "..."}'),
        ("Ingestion__Sources__b__Mappings__0__topic", "Ingestion__Sources__b__Mappings=["),
    ],
)
def test_a_part_of_a_value_of_an_endpoint_or_source_is_refused_with_what_to_write(
    key: str, right: str
) -> None:
    (problem,) = problems_of({key: "nats://user:hidden@h"})
    assert problem.startswith(f"{key} (environment {key}) goes too deep: ")
    assert right in problem
    assert "hidden" not in problem


def test_keys_below_an_element_of_a_list_are_refused() -> None:
    (problem,) = problems_of({"Cors__Origins__0__x": "1"})
    assert "Cors__Origins__0__x (environment" in problem
    assert problem.endswith("is not a setting: Cors__Origins must be a list, each text.")


def test_a_section_of_a_plugin_without_settings_is_refused() -> None:
    (problem,) = problems_of({"Storage__Plain__X": "1"}, chosen="plain")
    assert "takes no settings" in problem


def test_a_required_key_of_a_chosen_plugin_is_asked_for() -> None:
    (problem,) = problems_of({}, provider="Api")
    assert problem == "Authorization__ApiProvider__BaseUrl is not set: it must be text."


LEAVES = dict(iterate_leaves(Settings, ()))


@given(st.sampled_from(list(LEAVES)), st.text(max_size=20))
def test_any_text_in_any_known_key_is_taken_or_refused_naming_the_key(
    path: KeyPath, text: str
) -> None:
    blamed = []
    try:
        loaded = load_settings(None, {render_key(path): text})
    except SettingsError as error:
        blamed = [detail.message.split(" ")[0] for detail in error.details]
    else:
        blamed = [loaded.origins[path].removeprefix("environment ")]
    assert blamed
    assert all(render_key(path).startswith(key) for key in blamed)


@given(st.text(alphabet="abcdefg_", min_size=1, max_size=12))
def test_no_unknown_key_of_a_known_section_is_ever_accepted(name: str) -> None:
    if name.casefold() in read_keys(Settings.model_fields["server"].annotation):  # type: ignore[arg-type]  # the annotation is the section class
        return
    with pytest.raises(SettingsError):
        load_settings(None, {f"Server__{name}": "1"})


@pytest.mark.parametrize(
    ("key", "value", "right"),
    [
        ("Server__Workers", "100000", "at most 256"),
        ("Server__Bind", "::1:8080", "[::1]:8080"),
        ("Server__Bind", "127.0.0.1:\u0668\u0660", "must be host:port"),
        ("Server__Bind", "127.0.0.1:80800", "must be host:port"),
        ("Server__Bind", "http://127.0.0.1:80", "must be host:port"),
        ("Server__BasePath", "/a b", "such as /api"),
        ("Server__BasePath", "/a//b", "such as /api"),
        ("Server__BasePath", "/..", "such as /api"),
        ("Server__BasePath", "/%61?", "such as /api"),
        ("Server__PublicUrl", "https://", "must be an origin"),
        ("Server__PublicUrl", "https://a.example/path", "must be an origin"),
        ("Server__PublicUrl", "ftp://a.example", "must be an origin"),
        ("Cors__Origins__0", "app.example", "such as https://app.example"),
        ("Cors__Origins__0", "https://app.example/", "without a path"),
    ],
)
def test_a_value_that_could_not_work_is_refused_with_what_would_be_right(
    key: str, value: str, right: str
) -> None:
    (problem,) = problems_of({key: value})
    assert key.partition("__0")[0] in problem
    assert right in problem


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("Server__Bind", "[::1]:8080"),
        ("Server__Bind", "twins.example:0"),
        ("Server__Bind", "unix:/run/twinframe.sock"),
        ("Server__BasePath", "/twins/v1.0"),
        ("Server__BasePath", ""),
        ("Server__PublicUrl", "https://twins.example:8443/"),
        ("Cors__Origins", '["*"]'),
        ("Cors__Origins", '["http://localhost:3000", "vscode-webview://abc"]'),
    ],
)
def test_values_at_the_edge_of_what_is_right_are_taken(key: str, value: str) -> None:
    assert load({key: value}).origins


def test_true_is_no_number_in_a_file(tmp_path: Path) -> None:
    (problem,) = problems_of({}, write(tmp_path, {"Server": {"Workers": True}}))
    assert problem.startswith("Server__Workers = True (")
    assert problem.endswith("must be a number, not true or false.")


def test_credentials_are_not_allowed_to_every_origin() -> None:
    (problem,) = problems_of({"Cors__Origins": '["*"]', "Cors__Credentials": "true"})
    assert problem.startswith("Cors (environment Cors__Credentials, environment Cors__Origins): ")
    assert "name the origins" in problem


def test_a_whole_section_in_one_variable_is_pointed_at() -> None:
    assert find_near_misses({"SERVER": '{"Workers": 3}', "Graph": "x"}) == [
        "SERVER is passed over. Set its keys one by one, as Server__..."
    ]


def test_a_plugin_that_cannot_be_loaded_is_told_once() -> None:
    (problem,) = problems_of({"Storage__lake__Depth": "1"}, chosen="lake")
    assert problem.endswith(
        "(environment Storage__lake__Depth): no lake; pip install twinframe-storage-lake"
    )
