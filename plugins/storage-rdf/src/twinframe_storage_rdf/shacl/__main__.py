"""`python -m twinframe_storage_rdf.shacl`: the process that runs pyshacl.

It reads the shapes and then batches, each a line of JSON on standard input. For each batch it
writes a line of JSON with its results to standard output. It ends with its input.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from typing import Any, Final

import orjson
from pyshacl import validate
from rdflib import SH, Graph, Literal, URIRef
from rdflib.term import Node

_FACTS: Final = {
    "focus": SH.focusNode,
    "path": SH.resultPath,
    "value": SH.value,
    "message": SH.resultMessage,
    "component": SH.sourceConstraintComponent,
    "shape": SH.sourceShape,
}


def judge(shapes: Graph, batch: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the violations of the shapes: `targets` are the nodes that each shape is for.

    NOTE: only the nodes that the batch holds completely are targets; a target class would include
    all nodes that it mentions. The options that choose shapes and nodes would leave out shapes that
    others refer to, such as in sh:or.
    """
    data = Graph().parse(data=batch["triples"], format="nt")
    chosen = Graph()
    for shape, nodes in batch["targets"].items():
        _copy_shape(shapes, URIRef(shape), chosen)
        for node in nodes:
            chosen.add((URIRef(shape), SH.targetNode, URIRef(node)))
    conforms, report, _ = validate(data, shacl_graph=chosen)
    if not conforms:
        for result in report.objects(None, SH.result):
            yield _build_result(report, result)


def _copy_shape(shapes: Graph, shape: Node, into: Graph) -> None:
    """Copy the shape and everything it refers to, without its class."""
    waiting = [shape]
    while waiting:
        for subject, predicate, value in shapes.triples((waiting.pop(), None, None)):
            if predicate != SH.targetClass and (subject, predicate, value) not in into:
                into.add((subject, predicate, value))
                waiting.append(value)


def _build_result(report: Graph, result: Node) -> dict[str, Any]:
    found = {name: report.value(result, predicate) for name, predicate in _FACTS.items()}
    return {name: _build_term(term) for name, term in found.items() if term is not None}


def _build_term(term: Node) -> dict[str, str | None]:
    if isinstance(term, Literal):
        kind = None if term.datatype is None else str(term.datatype)
        return {"text": str(term), "datatype": kind}
    return {"iri": str(term)} if isinstance(term, URIRef) else {}


def main() -> None:
    """Validate batches until the input ends."""
    warnings.simplefilter("ignore")
    lines = sys.stdin.buffer
    shapes = Graph().parse(data=orjson.loads(lines.readline()), format="nt")
    for line in lines:
        found = list(judge(shapes, orjson.loads(line)))
        sys.stdout.buffer.write(orjson.dumps(found) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
