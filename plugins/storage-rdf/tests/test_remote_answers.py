"""What a SPARQL server may send to a caller's query: rows and triples of any cut, and rubbish."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st
from rdflib.compare import isomorphic

from twinframe.errors import LimitExceeded, SparqlInvalid, StorageError
from twinframe.storage.triples import ROW_SYNTAXES, TRIPLE_SYNTAXES, QueryForm
from twinframe_storage_rdf.endpoint.writing import LimitedWriter
from twinframe_storage_rdf.engine import Question
from twinframe_storage_rdf.engines.sparql import rewrite_answer
from twinframe_storage_rdf.products import STANDARD, VIRTUOSO, Product

JSON, XML, CSV, TSV = (syntax.media_types[0] for syntax in ROW_SYNTAXES)
MOST = 2_000_000
SURROGATE = (
    '{"head": {"vars": ["a"]}, '
    '"results": {"bindings": [{"a": {"type": "literal", "value": "\\ud800"}}]}}'
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
CELLS = st.one_of(
    st.fixed_dictionaries({"type": st.just("literal"), "value": TEXTS}),
    st.just({"type": "uri", "value": "urn:a"}),
    st.just({"type": "bnode", "value": "b0"}),
    st.just({"type": "literal", "value": "x", "xml:lang": "en"}),
    st.just({"type": "literal", "value": "3", "datatype": "urn:type"}),
)
ROWS = st.lists(st.dictionaries(st.sampled_from(["a", "b", "c"]), CELLS), max_size=4)


def cut(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def build(rows: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"head": {"vars": ["a", "b", "c"], **more}, "results": {**more, "bindings": rows}}


def write(
    text: str | Iterator[str],
    media_type: str = JSON,
    size: int = 10,
    form: QueryForm = QueryForm.SELECT,
    product: Product = STANDARD,
    most: int = MOST,
) -> str:
    written: list[bytes] = []
    question = Question("", None, None, media_type, form, most)
    pieces = cut(text, size) if isinstance(text, str) else text
    rewrite_answer(
        (piece.encode() for piece in pieces),
        question,
        product,
        LimitedWriter(most, time.monotonic() + 60, written.append),
    )
    return b"".join(written).decode()


@given(ROWS, st.integers(1, 40), st.sampled_from([None, 1]), st.booleans())
def test_rows_are_read_however_they_are_cut_and_spelt(
    rows: list[dict[str, Any]], size: int, indent: int | None, ascii_only: bool
) -> None:
    text = json.dumps(build(rows, link=[{}]), indent=indent, ensure_ascii=ascii_only)
    assert json.loads(write(text, size=size)) == build(rows)


def test_a_long_row_is_read_in_one_piece() -> None:
    row = {"a": {"type": "literal", "value": "x" * 1_000_000}}
    assert json.loads(write(json.dumps(build([row])), size=100)) == build([row])


@given(ROWS, st.data())
def test_rows_that_end_early_are_an_error_of_the_server(
    rows: list[dict[str, Any]], data: st.DataObject
) -> None:
    text = json.dumps(build(rows))
    end = data.draw(st.integers(0, len(text) - 1))
    with pytest.raises(StorageError):
        write(text[:end])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<html>welcome</html>",
        "[]",
        '{"boolean": true}',
        '{"head": {}, "results": {"bindings": []}}',
        '{"head": {"vars": ["a"]}, "results": {"bindings": {}}}',
        '{"head": {"vars": ["a"]}, "results": {"bindings": [1]}}',
        '{"head": {"vars": ["a"]}, "results": {"bindings": [{"a": 1}]}}',
        '{"head": {"vars": ["a"]}, "results": {"bindings": [{"a": {"type": "x", "value": ""}}]}}',
        '{"head": {"vars": ["a"]}, "results": {"bindings": [{} {}]}}',
        '{"head": {"vars": ["a"]}, "results": {"bindings": []}} and more',
        SURROGATE,
        '{"head": {"vars": ["a"]}, "results": {"bindings": [{"a": ' + "[" * 100_000,
    ],
    ids=lambda text: text[-30:],
)
def test_what_is_no_result_is_an_error_of_the_server(text: str) -> None:
    with pytest.raises(StorageError):
        write(text)


def test_the_product_that_spells_types_its_own_way_is_read_as_the_standard_says() -> None:
    cell = {
        "type": "typed-literal",
        "datatype": "http://www.w3.org/2001/XMLSchema#boolean",
        "value": "1",
    }
    for size in (10, 90, 1000):
        text = json.dumps(build([{"a": cell}] * 3))
        found = json.loads(write(text, size=size, product=VIRTUOSO))["results"]["bindings"]
        assert found == [{"a": {**cell, "type": "literal", "value": "true"}}] * 3


ODD: list[Mapping[str, Any]] = [
    {"a": {"type": "literal", "value": 'x"y,\r\n\tz<&>'}, "b": {"type": "uri", "value": "urn:a"}},
    {"c": {"type": "literal", "value": "Ü", "xml:lang": "de"}},
    {
        "a": {"type": "bnode", "value": "b1"},
        "c": {"type": "literal", "value": "", "datatype": "u:"},
    },
]


def test_rows_are_written_in_csv_and_tsv_as_the_standard_says() -> None:
    text = json.dumps(build([dict(row) for row in ODD]))
    assert write(text, CSV) == 'a,b,c\r\n"x""y,\r\n\tz<&>",urn:a,\r\n,,Ü\r\n_:b1,,\r\n'
    assert write(text, TSV).splitlines() == [
        "?a\t?b\t?c",
        '"x\\"y,\\r\\n\\tz<&>"\t<urn:a>\t',
        '\t\t"Ü"@de',
        '_:b1\t\t""^^<u:>',
    ]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # rdflib uses what it deprecates
def test_rows_in_xml_are_read_the_same_by_a_client() -> None:
    text = json.dumps(build([dict(row) for row in ODD]))
    found = [
        rdflib.query.Result.parse(io.BytesIO(written.encode()), format=name).bindings
        for name, written in (("xml", write(text, XML)), ("json", text))
    ]
    assert found[0] == found[1]
    assert str(found[0][0][rdflib.Variable("a")]) == 'x"y,\r\n\tz<&>'


@pytest.mark.parametrize(
    "text",
    [
        " " * 3_000_000,
        '{"head":{"vars":[]},"results":{"bindings":[' + " " * 3_000_000,
        '{"head":{"vars":["a"]},"results":{"bindings":[{"a":"' + "x" * 3_000_000,
        '{"head":{"vars":[]},"results":{"bindings":[]' + " " * 3_000_000 + "}}",
    ],
    ids=["head", "blanks", "row", "end"],
)
def test_what_has_no_end_is_not_held(text: str) -> None:
    taken = []

    def pour() -> Iterator[str]:
        for piece in cut(text, 50_000):
            taken.append(len(piece))
            yield piece
        for _ in range(10_000):
            taken.append(1)
            yield text[-2]

    with pytest.raises(StorageError):
        write(pour())
    assert sum(taken) <= 3_100_000


def test_a_term_that_is_longer_than_the_buffer_is_told() -> None:
    row = {"a": {"type": "literal", "value": "x" * 20_000_000}}
    with pytest.raises(LimitExceeded, match="too long"):
        write(json.dumps(build([row])), size=100_000, most=64 * 1024**2)


def test_xml_rows_with_a_control_character_are_told() -> None:
    text = json.dumps(build([{"a": {"type": "literal", "value": "\x01"}}]))
    with pytest.raises(SparqlInvalid, match="ask for JSON"):
        write(text, XML)


# --- triples --------------------------------------------------------------------------------------

LINES = (
    "# a comment\n"
    '<urn:a> <urn:p> "x\\"\\r\\n\\u00e9\\U0001F3E2" .\n'
    '<urn:a>\t<urn:p>\t"3"^^<http://www.w3.org/2001/XMLSchema#integer>\t.\n\n'
    "_:b1 <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <dtmi:x:Y;1> . # behind\n"
    '_:b1 <urn:q> "hi"@en-gb .\n'
    "<urn:a> <urn:q> _:b1 .\n"
)
FORMATS = {
    syntax.media_types[0]: name
    for syntax, name in zip(TRIPLE_SYNTAXES, ("turtle", "nt", "json-ld", "xml"), strict=True)
}


@pytest.mark.parametrize("media_type", FORMATS)
@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # rdflib uses what it deprecates
def test_triples_are_read_however_they_are_cut(media_type: str, size: int) -> None:
    written = write(LINES, media_type, size, QueryForm.CONSTRUCT)
    found = rdflib.Graph().parse(data=written, format=FORMATS[media_type])
    assert isomorphic(found, rdflib.Graph().parse(data=LINES, format="nt"))
    assert len(found) == 5


@pytest.mark.parametrize(
    "text",
    [
        "<html>",
        "<urn:a> <urn:p> 3 .\n",
        '<urn:a> <urn:p> "x"',
        '<urn:a> <urn:p> "x" .',
        '<urn:a> <urn:p> "\\q" .\n',
        '<urn:a> <urn:p> "\\uD800" .\n',
        '<urn:a> <urn:p> "\\UFFFFFFFF" .\n',
        "<urn:a> <urn:p> <urn:\\u0020x> .\n",
        "<urn:a> <urn:p> .\n",
        "[] <urn:p> <urn:a> .\n",
    ],
)
def test_what_are_no_triples_is_an_error_of_the_server(text: str) -> None:
    with pytest.raises(StorageError):
        write(text, "text/turtle", 5, QueryForm.CONSTRUCT)
