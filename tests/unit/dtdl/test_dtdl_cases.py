"""The reference cases of the public DTDL parser, versions 2 to 4."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.dtdl.cases import (
    Tally,
    decide,
    find_cases,
    main,
    read_cases,
    read_known_failures,
)
from tests.unit.dtdl.documents import model, prop


@pytest.fixture(scope="module")
def tally() -> Tally:
    path = find_cases()
    if path is None:
        pytest.skip(
            "the DTDL reference cases are not here: set TWINFRAME_DTDL_CASES to a "
            "cases.jsonl.gz, or put it at ../shared/conformance/dtdl/ beside the checkout"
        )
    tally = Tally()
    for case in read_cases(path):
        tally.add(decide(case))
    return tally


def test_every_case_is_decided_as_stated_but_the_listed_ones(tally: Tally) -> None:
    failed = {verdict.case: verdict.reasons[:2] for verdict in tally.failures}
    assert failed.keys() == read_known_failures().keys() & (failed.keys() | tally.passed), failed


def test_every_listed_failure_has_a_reason() -> None:
    assert [name for name, reason in read_known_failures().items() if not reason] == []


VALID: dict[str, Any] = {
    "case": "generated/AV3",
    "valid": True,
    "input": [model("A", [prop("p", "double", writable=True)])],
    "expect": {
        "elements": [
            {
                "id": "dtmi:com:example:A:_contents:__p;1",
                "type": "Property",
                "properties": {"name": "p", "writable": True, "schema": "dtmi:dtdl:double;3"},
            }
        ]
    },
}
INVALID: dict[str, Any] = {
    "case": "generated/BV3",
    "valid": False,
    "input": [model("B", [{"@type": "Property", "name": "p"}])],
    "expect": {
        "parsingErrors": [
            {
                "ValidationID": "dtmi:dtdl:parsingError:missingObjectProperty",
                "PrimaryID": "dtmi:com:example:B:_contents:__p;1",
            }
        ]
    },
}


def change(case: dict[str, Any], **changes: object) -> dict[str, Any]:
    return {**case, **changes}


def expect(kind: str, *items: dict[str, Any]) -> dict[str, Any]:
    return {"expect": {kind: list(items)}}


ELEMENT = VALID["expect"]["elements"][0]
ERROR = INVALID["expect"]["parsingErrors"][0]


def build(**properties: object) -> dict[str, Any]:
    """The valid case, its element with other properties."""
    return change(VALID, **expect("elements", {**ELEMENT, "properties": properties}))


@pytest.mark.parametrize(
    ("case", "passes"),
    [
        (VALID, True),
        (INVALID, True),
        (change(VALID, valid=False), False),
        (change(INVALID, valid=True), False),
        (change(VALID, **expect("elements", {**ELEMENT, "type": "Telemetry"})), False),
        (build(writable=False), False),
        (build(schema="float"), False),
        (change(INVALID, **expect("parsingErrors", {**ERROR, "ValidationID": "x:badType"})), False),
        (change(INVALID, **expect("parsingErrors", {**ERROR, "PrimaryID": "dtmi:x;1"})), False),
        (change(VALID, instances=[{"subject": ELEMENT["id"], "submit": '"a"', "conforms": True}]),
         False),
        (change(VALID, instances=[{"subject": ELEMENT["id"], "submit": "1.5", "conforms": True}]),
         True),
        ({"case": "dtmis/A", "valid": True, "idText": "dtmi:a;1#b", "expect": {"Fragment": "#b"}},
         True),
        ({"case": "dtmis/B", "valid": True, "idText": "dtmi:a;1#b", "expect": {"Fragment": ""}},
         False),
    ],
)  # fmt: skip
def test_a_case_passes_in_all_that_it_states_or_fails(case: dict[str, Any], passes: bool) -> None:
    assert decide(case).passed is passes


@pytest.mark.parametrize(
    ("known", "cases", "code", "last"),
    [
        ("", [VALID, INVALID], 0, "2 passed, 0 failed, 0 skipped"),
        ("", [change(VALID, valid=False)], 1, "0 passed, 1 failed, 0 skipped"),
        ("generated/AV3  why", [change(VALID, valid=False)], 0, "0 passed, 1 failed, 0 skipped"),
        ("generated/AV3  why", [VALID], 1, "0 passed, 1 failed, 0 skipped"),
        ("", [change(INVALID, **expect("parsingErrors", {**ERROR, "ValidationID": "x:y"}))], 1,
         "0 passed, 1 failed, 0 skipped"),
    ],
)  # fmt: skip
def test_the_run_fails_unless_the_list_of_known_failures_is_right(
    known: str,
    cases: list[dict[str, Any]],
    code: int,
    last: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "cases.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(json.dumps(case) for case in cases).encode()))
    listed = tmp_path / "known.txt"
    listed.write_text(known, encoding="utf-8")
    monkeypatch.setenv("TWINFRAME_DTDL_CASES", str(path))
    monkeypatch.setattr("tests.unit.dtdl.cases.KNOWN_FAILURES", listed)
    assert main() == code
    assert capsys.readouterr().out.splitlines()[-1] == last
