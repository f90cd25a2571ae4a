"""The reference cases of the public DTDL parser, versions 2 to 4."""

from __future__ import annotations

import pytest

from tests.unit.dtdl.cases import (
    VERSIONS,
    Tally,
    decide,
    find_cases,
    read_cases,
    read_known_failures,
)


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
    failed = {verdict.case for verdict in tally.failures}
    assert failed == read_known_failures().keys() & (failed | tally.passed)


def test_every_listed_failure_has_a_reason() -> None:
    assert [name for name, reason in read_known_failures().items() if not reason] == []


def test_nearly_all_cases_are_right_on_valid(tally: Tally) -> None:
    shares = {v: tally.agreed[v] / tally.total[v] for v in VERSIONS if tally.total[v]}
    assert {v: share for v, share in shares.items() if share < 0.995} == {}


def test_our_findings_name_the_rule_and_the_element_the_case_names(tally: Tally) -> None:
    shares = {v: tally.named[v] / tally.nameable[v] for v in VERSIONS if tally.total[v]}
    assert {v: share for v, share in shares.items() if share < 0.9} == {}


def test_the_object_model_holds_what_the_cases_expect(tally: Tally) -> None:
    assert {verdict.case: verdict.elements for verdict in tally.misbuilt} == {}
