"""`twinframe dtdl`: models checked, shown and compared, without settings, service or store."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from twinframe.cli import main

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty working folder, with settings that no service could start on."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("Storage__Provider", "nowhere")
    return tmp_path


def run(*args: str, given: str | None = None) -> Result:
    return CliRunner().invoke(main, ["dtdl", *args], input=given)


def write(path: str, *models: dict[str, Any]) -> str:
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(list(models), indent=1), encoding="utf-8")
    return path


def model(name: str, *contents: dict[str, Any], **rest: Any) -> dict[str, Any]:
    return {
        "@context": "dtmi:dtdl:context;4",
        "@id": f"dtmi:com:example:{name}",
        "@type": "Interface",
        "contents": list(contents),
        **rest,
    }


def prop(name: str, schema: str) -> dict[str, Any]:
    return {"@type": "Property", "name": name, "schema": schema}


def test_valid_models_are_counted_and_the_exit_code_is_zero() -> None:
    write("models/a.json", model("A;1"), model("B;1"))
    write("models/deep/c.json", model("C;1", extends="dtmi:com:example:A;1"))
    for files in (["models"], ["models/**/*.json"], ["models/a.json", "models/deep"]):
        result = run("validate", *files)
        assert (result.exit_code, result.stderr) == (0, "3 interfaces valid, in 2 files\n")


def test_every_finding_has_file_line_and_rule_and_the_exit_code_is_one() -> None:
    write("a.json", model("A;1", prop("p", "strng")))
    Path("b.json").write_text("{", encoding="utf-8")
    result = run("validate", "a.json", "b.json")
    assert result.exit_code == 1
    broken, wrong = result.stdout.splitlines()
    assert broken.startswith("b.json:1:2: notJson: ")
    assert wrong.startswith("a.json:10:5: badDtmiOrTerm: dtmi:com:example:A:_contents:__p;1")
    assert wrong.endswith("Did you mean 'string'?")
    assert result.stderr == "2 findings in 2 files\n"


def test_findings_as_json_have_every_field() -> None:
    write("a.json", model("A;1", prop("p", "strng")))
    document = json.loads(run("validate", "--json", "a.json").stdout)
    assert document["valid"] is False
    (finding,) = document["findings"]
    assert finding["pointer"] == "/0/contents/0/schema"
    assert (finding["file"], finding["line"], finding["code"]) == ("a.json", 10, "badDtmiOrTerm")
    assert finding["value"] == '"strng"'
    write("a.json", model("A;1"))
    document = json.loads(run("validate", "--json", "a.json").stdout)
    assert document == {"valid": True, "interfaces": ["dtmi:com:example:A;1"]}


def test_standard_input_is_read_as_a_file() -> None:
    result = run("validate", "-", given=json.dumps(model("A;1", prop("p", "strng"))))
    assert result.exit_code == 1
    assert result.stdout.startswith("<stdin>:1:")


def test_what_is_not_there_ends_with_two() -> None:
    for files in (["nowhere.json"], ["*.json"], []):
        assert run("validate", *files).exit_code == 2


def test_bases_are_read_where_they_are_referred_to_and_not_checked() -> None:
    write("base.json", model("Base;1", prop("p", "string")), model("Wrong;1", prop("p", "strng")))
    write("heir.json", model("Heir;1", prop("q", "string"), extends="dtmi:com:example:Base;1"))
    alone = run("validate", "heir.json")
    assert (alone.exit_code, "unresolvedReference" in alone.stdout) == (1, True)
    assert run("validate", "heir.json", "--base", "base.json").exit_code == 0


def test_a_base_that_is_no_json_is_told() -> None:
    write("heir.json", model("Heir;1", extends="dtmi:com:example:Base;1"))
    Path("base.json").write_text("{]", encoding="utf-8")
    result = run("validate", "heir.json", "--base", "base.json")
    assert result.exit_code == 1
    assert result.stdout.startswith("base.json:1:2: notJson: ")


def test_the_pre_commit_hook_runs_a_command_that_exists() -> None:
    text = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    (entry,) = re.findall(r"^  entry: twinframe (.+)$", text, re.MULTILINE)
    (files,) = re.findall(r"^  files: (.+)$", text, re.MULTILINE)
    write("models/a.json", model("A;1"))
    assert re.search(files, "models/a.json")
    result = CliRunner().invoke(main, [*entry.split(), "--base", "models", "models/a.json"])
    assert (result.exit_code, result.stderr) == (0, "1 interface valid, in 1 file\n")


def test_limits_versions_and_unknown_contexts_are_choices() -> None:
    limits = ["dtmi:dtdl:context;4#limitless", "dtmi:dtdl:limits:onvif;1"]
    write("limits.json", {**model("A;1"), "@context": limits})
    assert "disallowedLimitContext" in run("validate", "limits.json").stdout
    assert run("validate", "limits.json", "--limits", "dtmi:dtdl:limits:onvif").exit_code == 0
    write("four.json", model("A;1"))
    assert "disallowedContextVersion" in run("validate", "four.json", "--max-version", "3").stdout
    unknown = ["dtmi:dtdl:context;4", "dtmi:com:example:own;1"]
    write("unknown.json", {**model("A;1"), "@context": unknown})
    assert "unresolvableContextSpecifier" in run("validate", "unknown.json").stdout
    assert run("validate", "unknown.json", "--allow-undefined-extensions").exit_code == 0


def test_show_prints_inherited_contents_with_where_they_come_from() -> None:
    relationship = {"@type": "Relationship", "name": "r", "target": "dtmi:com:example:Base;1"}
    part = {"@type": "Component", "name": "c", "schema": "dtmi:com:example:Part;1"}
    write(
        "all.json",
        model("Base;1", prop("p", "string"), relationship),
        model("Part;1"),
        model(
            "Heir;1", part, {"@type": "Command", "name": "go"}, extends="dtmi:com:example:Base;1"
        ),
    )
    result = run("show", "all.json", "--model", "dtmi:com:example:Heir;1")
    rows = [line.split() for line in result.stdout.splitlines()]
    assert rows[0][0] == "dtmi:com:example:Heir;1"
    assert ["p", "Property", "string", "dtmi:com:example:Base;1"] in rows
    assert ["c", "Component", "dtmi:com:example:Part;1", "dtmi:com:example:Heir;1"] in rows
    (document,) = json.loads(
        run("show", "all.json", "--model", "dtmi:com:example:Heir;1", "--json").stdout
    )
    assert document["ancestors"] == ["dtmi:com:example:Base;1"]
    assert {content["name"] for content in document["contents"]} == {"p", "r", "c", "go"}
    assert run("show", "all.json", "--model", "dtmi:com:example:Nobody;1").exit_code == 2


def test_tree_prints_heirs_below_their_bases() -> None:
    a, b, c = (f"dtmi:com:example:{name};1" for name in "ABC")
    write(
        "all.json",
        model("A;1"),
        model("B;1", extends=a),
        model("C;1", extends=[a, b]),
        model("D;1", extends=c),
    )
    assert run("tree", "all.json").stdout.splitlines() == [
        "dtmi:com:example:A;1",
        "├── dtmi:com:example:B;1",
        "│   └── dtmi:com:example:C;1",
        "│       └── dtmi:com:example:D;1",
        "└── dtmi:com:example:C;1 (see above)",
    ]
    heirs = json.loads(run("tree", "all.json", "--json").stdout)
    assert heirs[a] == [b, c]


def test_diff_says_what_breaks_and_ends_with_one() -> None:
    write("old.json", model("A;1", prop("p", "long"), prop("q", "string")))
    write("new.json", model("A;2", prop("p", "byte"), prop("q", "string"), prop("r", "string")))
    result = run("diff", "old.json", "new.json")
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "breaking    dtmi:com:example:A;1 p: long became byte",
        "compatible  dtmi:com:example:A;1 r: the Property is new",
    ]
    changes = json.loads(run("diff", "old.json", "new.json", "--json").stdout)
    assert changes[0] == {
        "effect": "breaking",
        "interface": "dtmi:com:example:A;1",
        "content": "p",
        "message": "long became byte",
    }


def test_diff_of_equal_models_ends_with_zero() -> None:
    write("a.json", model("A;1", prop("p", "long")))
    result = run("diff", "a.json", "a.json")
    assert (result.exit_code, result.stdout) == (0, "Nothing changed for twins.\n")


def test_commands_that_read_broken_models_say_what_is_wrong() -> None:
    write("a.json", model("A;1", prop("p", "strng")))
    for command in (["show", "a.json"], ["tree", "a.json"], ["diff", "a.json", "a.json"]):
        result = run(*command)
        assert result.exit_code == 1
        assert "a.json, line 10" in result.stderr
