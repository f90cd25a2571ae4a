"""The SPARQL of the main shapes, word for word: a change of a plan must be seen in review.

To accept new SPARQL, run this file as a script: it writes `golden.rq` anew.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from twinframe.model.values import Value
from twinframe.query.language import parse_query
from twinframe.query.plan.optimize import optimize
from twinframe_storage_rdf.compiler.engine import SparqlQueryEngine
from twinframe_storage_rdf.mapping import GraphNames

GOLDEN = Path(__file__).with_name("golden.rq")
PARAMETERS: dict[str, Value] = {"id": "a", "x": 20, "ids": ["a", "b"], "n": 10, "l": [1, 2]}
_SHORT = (
    ("<urn:twinframe:vocabulary:", "<tf:"),
    ("<urn:twinframe:property:", "<p:"),
    ("<http://www.w3.org/2001/XMLSchema#", "<xsd:"),
    ("<http://www.w3.org/2000/01/rdf-schema#", "<rdfs:"),
    ("<http://www.w3.org/1999/02/22-rdf-syntax-ns#", "<rdf:"),
)


def read_golden() -> dict[str, str]:
    """Query -> SPARQL."""
    lines = GOLDEN.read_text(encoding="utf-8").splitlines()
    heads = [number for number, line in enumerate(lines) if line.startswith("# ")]
    return {
        lines[start].removeprefix("# "): "\n".join(lines[start + 1 : end]).strip()
        for start, end in zip(heads, [*heads[1:], len(lines)], strict=True)
    }


def compile_text(text: str) -> str:
    """The SPARQL of a query, a part a line, with short names of the vocabularies."""
    query = optimize(parse_query(text, parameters=tuple(PARAMETERS)).query)
    sparql = SparqlQueryEngine(GraphNames("g")).compile(query, PARAMETERS).text
    for word in (" FROM ", " { ", " OPTIONAL ", " FILTER(", " UNION ", " ORDER BY ", " GROUP BY "):
        sparql = sparql.replace(word, "\n" + word.lstrip())
    for long, short in _SHORT:
        sparql = sparql.replace(long, short)
    return sparql


@pytest.mark.parametrize("text", read_golden())
def test_the_sparql_of_a_shape_is_as_reviewed(text: str) -> None:
    assert compile_text(text) == read_golden()[text]


def test_compiling_twice_gives_the_same_text() -> None:
    for text in read_golden():
        assert compile_text(text) == compile_text(text)


if __name__ == "__main__":
    GOLDEN.write_text(
        "\n".join(f"# {text}\n{compile_text(text)}\n" for text in read_golden()),
        encoding="utf-8",
    )
