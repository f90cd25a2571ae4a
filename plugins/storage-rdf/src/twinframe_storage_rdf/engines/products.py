"""What SPARQL servers do in ways of their own, all of it. It sends no request.

`docs/how-to/run-on-a-sparql-cluster.md` lists the same for operators.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from twinframe.errors import ConfigurationError
from twinframe_storage_rdf import vocabulary as v
from twinframe_storage_rdf.engines.base import Change
from twinframe_storage_rdf.engines.updates import (
    Stage,
    render_conditional,
    render_conditional_by_keys,
    render_data,
    render_staged,
)
from twinframe_storage_rdf.mapping import Triple
from twinframe_storage_rdf.terms import Iri, Row


@dataclass(frozen=True, slots=True)
class Update:
    """A change as requests: `before` prepare it and change nothing, `text` makes it whole.

    `stages` are graphs to be cleared whatever happens.
    """

    text: str
    before: Sequence[str] = ()
    stages: Sequence[Iri] = ()


class Product:
    """A server that keeps to SPARQL 1.1, of which no more is known.

    `isolates`: of two updates that overlap, one comes as if after the other. The standard asks for
    no such thing. Without it, nobody may write while the end of an update is not known.
    """

    name: ClassVar[str] = "standard"
    isolates: ClassVar[bool] = False
    keeps_numbers: ClassVar[bool] = True

    def check(self, select: Callable[[str], Iterator[Row]]) -> None:
        """`ConfigurationError` when the server is set up so that a promise cannot be kept."""

    def build_update(self, change: Change, claim: Triple) -> Update:
        """The requests of a change, which is made only while the claim is there."""
        return Update(render_conditional(change, claim))

    def find_cut(self, headers: Mapping[str, str]) -> str:
        """The header that says of an answer with status 200 that it is not the whole one."""
        del headers
        return ""

    def is_refusal(self, said: str) -> bool:
        """Whether an answer with status 500 means that the text is at fault."""
        del said
        return False

    def is_undone(self, said: str) -> bool:
        """Whether an answer with status 500 means: rolled back, may be tried again."""
        del said
        return False


_REFUSED: Final = re.compile(r"Virtuoso (?:22|37|42)\w{3} Error ")
_UNDONE: Final = re.compile(r"Virtuoso 40001 Error ")
_CUT_HEADERS: Final = ("x-sparql-maxrows", "x-sql-state")
_WELL: Final = "00000"
_MOST_IN_TEXT: Final = 800
_CHUNK: Final = 400
_REPEATABLE: Final = 4


class Virtuoso(Product):
    """Virtuoso 7, open source.

    - Its default, READ COMMITTED, lets two updates both find the version they wait for, and shows
      readers half of an update: both were seen. With REPEATABLE READ neither was.
    - An update that lost to another by a deadlock is made again by the server itself, after a
      pause of a second and more: so writers take their turns by claims here too.
    - It leaves a long literal of another datatype where it is when it stands in a DELETE template
      of several graphs; found by subject and predicate it goes.
    - It compiles texts of some thousand triples no more: larger changes are brought to graphs that
      nobody reads, from where one update takes them all.
    - Doubles come back with six digits, some large integers as decimals.
    - It says with status 500 that a text is wrong, and that it ended a deadlock by a rollback.
    - It compares stored strings by numbers that they got as they came, and orders them so from 20
      bytes on where there is no LIMIT; computed ones, such as of STR, by their text (`queries`).
    - Answers that it cuts have status 200 and a header.
    - It answers an ASK with a row (`results.parse_truth`).
    """

    name = "virtuoso"
    isolates = True
    keeps_numbers = False

    def check(self, select: Callable[[str], Iterator[Row]]) -> None:
        """REPEATABLE READ or more."""
        ((level,),) = select(
            'SELECT (bif:sys_stat("default_txn_isolation") AS ?level) WHERE { }',
        )
        if not isinstance(level, int) or level < _REPEATABLE:
            raise ConfigurationError(
                f"Virtuoso runs with DefaultIsolation = {level!r}: of two writers both would be "
                "told that they won. Set DefaultIsolation = 4 in [Parameters] of its ini "
                "and start it again."
            )

    def build_update(self, change: Change, claim: Triple) -> Update:
        """One MODIFY; larger changes through staging graphs."""
        size = sum(len(triples) for _, triples in (*change.removed, *change.added))
        if size <= _MOST_IN_TEXT:
            return Update(render_conditional_by_keys(change, claim))
        stages = [
            Stage(
                graph,
                Iri(f"{graph}:{kind}:{uuid.uuid4().hex}"),
                kind == "removed",
                [(s, p, "" if o is None else o) for s, p, o in triples],
            )
            for kind, graphs in (("removed", change.removed), ("added", change.added))
            for graph, triples in graphs
            if triples
        ]
        before = [
            render_data("INSERT", [(stage.name, stage.triples[at : at + _CHUNK])])
            for stage in stages
            for at in range(0, len(stage.triples), _CHUNK)
        ]
        # NOTE: an update that is late must not find its stages cleared and make half a change.
        whole: Triple = (stages[0].name, v.WRITE_ID, "whole")
        seal = Stage(stages[0].target, Iri(f"{stages[0].name}:seal"), True, [whole])
        before.append(render_data("INSERT", [(seal.name, seal.triples)]))
        return Update(
            render_staged(change.guard, claim, stages, seal),
            before,
            [seal.name, *(stage.name for stage in stages)],
        )

    def find_cut(self, headers: Mapping[str, str]) -> str:
        """One of two headers; state 00000, which says that all is well, comes after a deadlock."""
        return next((name for name in _CUT_HEADERS if headers.get(name, _WELL) != _WELL), "")

    def is_refusal(self, said: str) -> bool:
        """SQL states of wrong texts and values."""
        return _REFUSED.match(said) is not None

    def is_undone(self, said: str) -> bool:
        """The SQL state of a deadlock."""
        return _UNDONE.match(said) is not None


STANDARD: Final = Product()
VIRTUOSO: Final = Virtuoso()
PRODUCTS: Final = {product.name: product for product in (STANDARD, VIRTUOSO)}


def find_product(server: str) -> Product:
    """The product of this `Server` header."""
    return VIRTUOSO if server.startswith("Virtuoso") else STANDARD
