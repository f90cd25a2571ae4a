"""What an engine is exact in is found out, and nothing else is compiled for it.

`python plugins/storage-rdf/tests/compiler/test_abilities.py` writes the answers to the probes anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from twinframe.errors import QueryInvalid, StorageBusy, StorageError
from twinframe.query.engine import CannotRun
from twinframe.query.evaluate.limits import Limits
from twinframe.query.language import parse_query
from twinframe.query.plan.optimize import optimize
from twinframe.query.plan.split import split
from twinframe.testing.query_corpora import CORPORA, PARAMETERS
from twinframe.testing.query_law import QueryLaw, open_stored, write_graph
from twinframe_storage_rdf.building import build_store
from twinframe_storage_rdf.compiler.abilities import EVERYTHING, NOTHING, Abilities, find_used
from twinframe_storage_rdf.compiler.engine import SparqlQueryEngine
from twinframe_storage_rdf.compiler.probes import (
    ANSWERS,
    PROBES,
    AbilityFinder,
    Answer,
    ask,
    load_answers,
    probe,
    write_triples,
)
from twinframe_storage_rdf.engine import Engine
from twinframe_storage_rdf.engines.oxigraph import OxigraphEngine
from twinframe_storage_rdf.engines.rdflib_engine import RdflibEngine
from twinframe_storage_rdf.mapping import GraphNames
from twinframe_storage_rdf.settings import RdfSettings
from twinframe_storage_rdf.store import RdfStore
from twinframe_storage_rdf.terms import Row, Term

NAMES = GraphNames("test")


class Rounding(OxigraphEngine):
    """Doubles come with three digits, as from a server that does not keep them."""

    dialect = "rounding"

    def select(self, text: str, deadline: float | None = None) -> Iterator[Row]:
        def spoil(cell: Term) -> Term:
            return float(f"{cell:.3g}") if isinstance(cell, float) else cell

        return iter([tuple(map(spoil, row)) for row in super().select(text, deadline)])


class Refusing(OxigraphEngine):
    """Takes no text that uses a word; it may be said to be out of order instead."""

    dialect = "refusing"

    def __init__(self, word: str, error: type[StorageError] = StorageError) -> None:
        super().__init__()
        self.word, self.error, self.asked = word, error, 0

    def select(self, text: str, deadline: float | None = None) -> Iterator[Row]:
        self.asked += 1
        if self.word in text:
            raise self.error(f"{self.word}?")
        return super().select(text, deadline)


def open_engine(engine: OxigraphEngine) -> OxigraphEngine:
    engine.open()
    return engine


def compile_for(text: str, abilities: Abilities) -> str:
    query = optimize(parse_query(text, parameters=tuple(PARAMETERS)).query)
    return SparqlQueryEngine(NAMES, lambda: abilities).compile(query, PARAMETERS).text


# --- probes -------------------------------------------------------------------------------------


def read_answers(engine: Engine) -> list[Answer | None]:
    """The engine's answers; None where it refuses."""
    write_triples(engine)
    return [ask(engine, each) for each in PROBES]


def test_the_known_answers_are_those_of_the_engine_that_the_law_holds() -> None:
    assert read_answers(open_engine(OxigraphEngine())) == load_answers()


def test_an_exact_engine_proves_every_ability_that_the_compiler_uses() -> None:
    found, is_sure = probe(open_engine(OxigraphEngine()))
    assert is_sure
    compiler = SparqlQueryEngine(NAMES, lambda: found)
    exact = SparqlQueryEngine(NAMES)
    compiled = 0
    for texts in CORPORA.values():
        for text in texts[::7]:
            try:
                query = parse_query(text, parameters=tuple(PARAMETERS)).query
                expected = exact.compile(query, PARAMETERS).text
            except (QueryInvalid, CannotRun):
                continue
            compiled += 1
            assert compiler.compile(query, PARAMETERS).text == expected
    assert compiled > 200


def test_probes_are_asked_of_one_engine_of_a_dialect() -> None:
    first, second = Refusing("STRENDS"), Refusing("STRENDS")
    found = AbilityFinder(open_engine(first)).find()
    assert first.asked > len(PROBES) / 2
    assert AbilityFinder(open_engine(second)).find() is found
    assert second.asked == 0
    assert not found.has("STRENDS")
    assert found.has("=")


def test_a_probe_without_an_answer_is_asked_again_later() -> None:
    engine = Refusing("STRENDS", StorageBusy)
    engine.dialect = "hiccup"
    finder = AbilityFinder(open_engine(engine))
    assert not finder.find().has("STRENDS")
    engine.word = "nothing has this word"
    assert finder.find().has("STRENDS")


def test_an_engine_that_fails_at_patterns_is_given_nothing() -> None:
    assert probe(open_engine(Refusing("OPTIONAL"))) == (NOTHING, True)


# --- what is compiled ---------------------------------------------------------------------------


def test_a_value_that_does_not_come_back_as_it_is_is_no_column() -> None:
    found, _ = probe(open_engine(Rounding()))
    assert not found.has("a double")
    with pytest.raises(CannotRun, match="a double"):
        compile_for("MATCH (t) RETURN t.x AS x", found)
    for text in (
        "MATCH (t:Room)-[:has]->(u) RETURN u",
        "MATCH (t) RETURN t.$dtId AS i, count(*) AS n",
    ):
        assert compile_for(text, found) == compile_for(text, EVERYTHING)


def test_operators_over_ids_and_resources_need_less_than_those_over_any_value() -> None:
    used = {
        text: find_used_of(text)
        for text in (
            "MATCH (t) WHERE t.$dtId > 'a' RETURN t",
            "MATCH (t) WHERE t.x > 'a' RETURN t",
            "MATCH (a)-[r]->(b)-[q]->(c) RETURN DISTINCT a",
            "MATCH (a) RETURN DISTINCT a.x AS x",
        )
    }
    narrow, wide, resources, values = used.values()
    assert ">~" in narrow - wide
    assert ">" in wide - narrow
    assert {"!=~", "DISTINCT~"} <= resources
    assert "DISTINCT" in values - resources


def find_used_of(text: str) -> frozenset[str]:
    """What an engine with no ability at all is said to be not exact about."""
    with pytest.raises(CannotRun) as declined:
        compile_for(text, Abilities(frozenset({"a boolean", "an integer", "a double"})))
    return frozenset(declined.value.message.rpartition("about ")[2].rstrip(".").split(", "))


def test_marks_and_names_of_the_text_are_no_operators() -> None:
    assert find_used('?a = "b || c" && <urn:x!=y~> STRLEN($v1_) (1 + 2)') == {
        "=",
        "&&",
        "STRLEN",
        "+",
    }
    assert find_used("?a <urn:x>* ?b . ?c ($v1_|^<urn:y>)+ ?d") == {"path *", "path +", "|", "^"}
    assert "~" not in compile_for(
        "MATCH (a)-->(b)-->(c) RETURN DISTINCT a ORDER BY a.$dtId", EVERYTHING
    )


# --- the law ------------------------------------------------------------------------------------


@pytest.mark.parametrize("corpus", CORPORA)
def test_what_is_compiled_for_a_lax_engine_is_answered_as_the_evaluator_does(
    corpus: str, rdflib_law: QueryLaw
) -> None:
    texts = CORPORA[corpus]
    for text in texts[:: max(1, len(texts) // 4)]:
        rdflib_law.check(text, None, PARAMETERS, lenient=True)


def test_much_is_compiled_for_a_lax_engine(rdflib_law: QueryLaw) -> None:
    answers = [
        rdflib_law.check(text)
        for text in (
            "MATCH (t:Room) RETURN t",
            "MATCH (a)-[r:has]->(b)-->(c) RETURN a, r, c.$dtId AS c",
            "MATCH (a {$dtId: 'a'})-[*1..2]->(b) RETURN b",
            "MATCH (a) OPTIONAL MATCH (a)-[:feeds]->(b) RETURN a, b",
            "MATCH (a)-->(b) RETURN b.$dtId AS b, count(*) AS n",
            "MATCH (a) WHERE a.s = 'foo' RETURN a.$dtId AS a ORDER BY a LIMIT 2",
        )
    ]
    assert [answer.declined for answer in answers] == [None] * len(answers)


@pytest.fixture(scope="module")
def rdflib_law() -> Iterator[QueryLaw]:
    """The law for what rdflib is exact in."""
    found = AbilityFinder(RdflibEngine()).find
    law = QueryLaw(
        SparqlQueryEngine(NAMES, found),
        lambda twins, edges: open_stored(
            RdfStore(RdflibEngine(), NAMES, shared=False), twins, edges
        ),
    )
    yield law
    law.close()


# --- remote servers -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (a)-[:has]->(b) RETURN b.s AS s",
        "MATCH (a)-[:has]->(b)-[:has]->(c) WHERE toUpper(c.s) <> 'X' RETURN c",
        "MATCH (a)-[:has*1..3]->(b) WHERE a.$dtId = 't0' RETURN b",
        "MATCH p = (a {$dtId: 't0'})-[:has*1..3]->(b) RETURN length(p) AS n, b.$dtId AS b",
        "MATCH (a)-[:has]->(b) RETURN a.s AS s, collect(b.$dtId) AS l",
        "MATCH (a) WHERE COUNT { (a)-->() } > 1 RETURN a",
        "MATCH (a) WHERE EXISTS { MATCH (a)-->(b)-->(c) WHERE toUpper(c.s) = 'S1' } RETURN a",
        "MATCH (a) CALL (a) { MATCH (a)-->(b) RETURN b.s AS s ORDER BY s LIMIT 1 } RETURN a, s",
        "MATCH (a) OPTIONAL MATCH (a)-[:has]->(b) WHERE toUpper(b.s) = 'X' RETURN a, b",
        "MATCH (a {$dtId: 't0'}), (b {$dtId: 't3'}), p = shortestPath((a)-[*]-(b)) RETURN p",
    ],
)
@pytest.mark.parametrize("is_lax", [False, True], ids=["exact", "lax"])
def test_requests_do_not_grow_with_the_rows(text: str, is_lax: bool, sparql_server: Any) -> None:
    counts = []
    for size in (40, 160):
        name = f"g{size}"
        settings = RdfSettings(
            engine="sparql",
            query_url=f"{sparql_server.url}/query",
            update_url=f"{sparql_server.url}/update",
        )
        store = build_store(settings, name)
        store.open()
        twins = [(f"t{at}", "dtmi:ex:Room;1", {"s": f"s{at % 7}"}) for at in range(size)]
        edges = [(f"t{at // 3}", "has", f"t{at}", {}) for at in range(1, size)]
        write_graph(store, twins, edges)
        abilities = probe(open_engine(Rounding()))[0] if is_lax else EVERYTHING
        engine = SparqlQueryEngine(GraphNames(name), lambda found=abilities: found)
        query = optimize(parse_query(text).query)
        execution = split(query, engine, {})
        session = store.session()
        sparql_server.requests.clear()
        with session.snapshot():
            rows = [orjson.loads(body) for body, _ in execution.run_json(session, {}, Limits())]
        counts.append(len(sparql_server.requests))
        assert rows
        store.close()
    assert counts[1] <= counts[0] + 4  # batches grow to 512 rows
    assert counts[0] <= 26


if __name__ == "__main__":
    ANSWERS.write_bytes(orjson.dumps(read_answers(open_engine(OxigraphEngine()))))
