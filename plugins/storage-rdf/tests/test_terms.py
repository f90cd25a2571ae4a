"""Values in SPARQL texts come back as they were, whatever they hold."""

from __future__ import annotations

import math

import pyoxigraph
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rdflib import Graph

from twinframe.errors import InvalidArgument
from twinframe_storage_rdf.results import parse_rows
from twinframe_storage_rdf.terms import Iri, Term, render_iri, render_term
from twinframe_storage_rdf.vocabulary import (
    build_property_iri,
    build_relationship_iri,
    build_twin_iri,
    parse_twin_iri,
)

HOSTILE = st.text(alphabet="\\uU0123456789abcdefABCDEF\"'`<>{}().;#?$ \n\r\t\x01\x7fé\U0001f3e2")
TEXTS = st.text() | HOSTILE
TERMS = st.one_of(
    TEXTS,
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.booleans(),
    TEXTS.map(str.encode),
    TEXTS.map(build_twin_iri),
)
STORE = pyoxigraph.Store()


def read_back(term: Term) -> Term:
    """The term as an engine answers it."""
    found = STORE.query(f"SELECT ?x WHERE {{ VALUES ?x {{ {render_term(term)} }} }}")
    ((value,),) = parse_rows(found.serialize(format=pyoxigraph.QueryResultsFormat.JSON))
    return value


@given(TERMS)
def test_a_term_in_a_text_is_that_one_term_again(term: Term) -> None:
    found = read_back(term)
    assert type(found) is type(term)
    assert repr(found) == repr(term)


@given(HOSTILE)
@example("\x010000")
@example("\x01\\u0041")
def test_a_processor_that_replaces_code_points_first_reads_the_same(text: str) -> None:
    found = Graph().query(f"SELECT ?x WHERE {{ VALUES ?x {{ {render_term(text)} }} }}")
    assert [str(row[0]) for row in found] == [text]


@pytest.mark.parametrize(
    "text",
    [
        '" } } ; DROP ALL ; SELECT * { { "',
        "\\u0022 } DROP ALL #",
        "\\\\u0022",
        "\\",
        '\\"',
        "'''\"\"\"",
        "a\r\nb",
        "\x00",
        "\\\x01",
        "\\\\\x01u0022",
    ],
)
def test_known_attacks_stay_text(text: str) -> None:
    assert read_back(text) == text


@pytest.mark.parametrize(
    "value", [float("inf"), -float("inf"), -0.0, 5e-324, 1.7976931348623157e308]
)
def test_floats_at_the_edges_are_kept(value: float) -> None:
    assert repr(read_back(value)) == repr(value)


def test_not_a_number_is_kept() -> None:
    found = read_back(float("nan"))
    assert isinstance(found, float)
    assert math.isnan(found)


@pytest.mark.parametrize(
    "iri", ["urn:a> . <urn:b", "urn:a b", "urn:a\n", 'urn:"', "urn:\\u003e", "a"]
)
def test_what_is_no_iri_is_refused(iri: str) -> None:
    with pytest.raises(InvalidArgument):
        render_iri(Iri(iri))


def test_a_lone_surrogate_is_refused() -> None:
    with pytest.raises(InvalidArgument):
        render_term("a\ud800")


@given(TEXTS)
def test_an_id_in_an_iri_is_found_again(text: str) -> None:
    assert parse_twin_iri(build_twin_iri(text)) == text


@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_different_keys_have_different_iris(a: str, b: str, c: str, d: str) -> None:
    assert (build_relationship_iri(a, b) == build_relationship_iri(c, d)) == ((a, b) == (c, d))
    assert (build_property_iri(a, b) == build_property_iri(c, d)) == ((a, b) == (c, d))
