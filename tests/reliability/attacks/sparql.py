"""Attacks by SPARQL of callers, and by Cypher that runs as SPARQL."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

from tests.reliability.attacks.attack import Attack, Target, ask

_PREFIX = "PREFIX tf: <urn:twinframe:vocabulary:> "

_TEXTS = {
    "paths in paths": "SELECT (COUNT(*) AS ?n) { ?a ((!tf:id)+/(!tf:model)*)+ ?b }",
    "any path from any to any": "SELECT (COUNT(*) AS ?n) "
    "{ ?a (!<urn:no>)* ?b . ?b (!<urn:no>)* ?c }",
    "a product in order": "SELECT ?a ?d { ?a ?b ?c . ?d ?e ?f } ORDER BY DESC(?c) ?f LIMIT 1",
    "a product without doubles": "SELECT DISTINCT ?a ?c ?d ?f { ?a ?b ?c . ?d ?e ?f }",
    "a product of four": "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }",
    "groups of a product": "SELECT ?c ?f (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f } GROUP BY ?c ?f",
    "all texts in one": "SELECT (GROUP_CONCAT(?c) AS ?t) { ?a ?b ?c . ?d ?e ?f }",
    "a text that doubles": "SELECT (STRLEN(?v12) AS ?n) { BIND('0123456789abcdef' AS ?v0) "
    + " ".join(f"BIND(CONCAT(?v{n}, ?v{n}, ?v{n}, ?v{n}) AS ?v{n + 1})" for n in range(12))
    + " }",
    "every triple, many times": "CONSTRUCT { ?a ?b ?c . ?d ?e ?f } { ?a ?b ?c . ?d ?e ?f }",
    "patterns for each text": "SELECT (COUNT(*) AS ?n) "
    "{ ?a ?b ?c . ?d ?e ?f FILTER REGEX(STR(?c), CONCAT('(', STR(?f), '|a)*b')) }",
}


def _ask(text: str) -> Callable[[Target], None]:
    path = f"/sparql?query={quote(_PREFIX + text)}"

    def run(target: Target) -> None:
        target.repeat(lambda: target.call("GET", path), clients=2)

    return run


ATTACKS = (
    *(Attack(f"SPARQL: {name}", _ask(text), ("rdf",)) for name, text in _TEXTS.items()),
    ask("cliques", "MATCH (a)-->(b)-->(c)-->(d)-->(e)-->(f) RETURN count(*)", storages=("rdf",)),
    ask(
        "pairs of large twins",
        "MATCH (a:Large), (b:Large) RETURN DISTINCT a.text + b.text AS t",
        storages=("rdf",),
    ),
)
