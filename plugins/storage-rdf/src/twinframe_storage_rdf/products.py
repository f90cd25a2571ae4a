"""The differences between SPARQL server products that this plugin must respect.

`docs/how-to/run-on-a-sparql-cluster.md` lists them for operators.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from twinframe.errors import ConfigurationError
from twinframe_storage_rdf import vocabulary as v
from twinframe_storage_rdf.engine import Change
from twinframe_storage_rdf.mapping import Triple
from twinframe_storage_rdf.terms import Iri, Row
from twinframe_storage_rdf.updates import (
    Stage,
    render_conditional,
    render_conditional_by_keys,
    render_data,
    render_staged,
)


@dataclass(frozen=True, slots=True)
class Update:
    """A change as requests: `before` prepares it and changes nothing visible, `text` applies it.

    `stages` are graphs to be cleared in any case.
    """

    text: str
    before: Sequence[str] = ()
    stages: Sequence[Iri] = ()


class Product:
    """A server that follows SPARQL 1.1, about which no more is known.

    `isolates`: of two overlapping updates, one takes effect as if after the other. The standard
    does not require that. Without it, nobody may write while it is unknown whether an update has
    ended.
    """

    name: ClassVar[str] = "standard"
    isolates: ClassVar[bool] = False
    keeps_numbers: ClassVar[bool] = True

    def check(self, select: Callable[[str], Iterator[Row]]) -> None:
        """Raise `ConfigurationError` when the server's configuration cannot keep a promise."""

    def build_update(self, change: Change, claim: Triple) -> Update:
        """Build the requests of a change, which is only applied while the claim exists."""
        return Update(render_conditional(change, claim))

    def find_cut(self, headers: Mapping[str, str]) -> str:
        """Return the header that marks an answer with status 200 as incomplete."""
        del headers
        return ""

    def mend_rows(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """Return the pieces of a result in JSON, with terms spelt as the standard says."""
        return pieces

    def is_refusal(self, said: str) -> bool:
        """Whether an answer with status 500 means that the text is wrong."""
        del said
        return False

    def is_undone(self, said: str) -> bool:
        """Whether a status 500 means that the update was rolled back and may be retried."""
        del said
        return False


_REFUSED: Final = re.compile(r"Virtuoso (?:22|37|42)\w{3} Error ")
_UNDONE: Final = re.compile(r"Virtuoso 40001 Error ")
_BOOLEAN: Final = re.compile(
    rb'("datatype": {0,9}"http://www.w3.org/2001/XMLSchema#boolean", {0,9}"value": {0,9})"([01])"'
)
"""NOTE: no text of a row matches: within a text every quote is escaped."""
_LONGEST_BOOLEAN: Final = 128
_TRUTHS: Final = {b"1": b"true", b"0": b"false"}
_CUT_HEADERS: Final = ("x-sparql-maxrows", "x-sql-state")
_WELL: Final = "00000"
_MOST_IN_TEXT: Final = 800
_CHUNK: Final = 400
_REPEATABLE: Final = 4


class Virtuoso(Product):
    """Virtuoso 7, open source.

    - Its default, READ COMMITTED, lets two updates both find the version they wait for, and shows
      readers half of an update: both were seen. With REPEATABLE READ neither was.
    - The server itself repeats an update that lost to another by a deadlock, after a pause of a
      second and more: so writers take the lock of `claims` here too.
    - A DELETE template over several graphs does not remove a long literal of another datatype;
      finding it by subject and predicate does.
    - It does not compile texts of more than some thousand triples: larger changes are sent to
      staging graphs, which are not read, and one update applies them.
    - Doubles are returned with six digits, some large integers as decimals.
    - Status 500 is its answer to a wrong text, and to a deadlock that it ended by a rollback.
    - It compares stored strings by internal numbers given in order of arrival, and from 20 bytes on
      orders by them where there is no LIMIT; computed strings, such as of STR, by their text
      (`queries`).
    - Answers that it cuts have status 200 and a header.
    - It answers an ASK with a row (`results.parse_truth`).
    - It spells booleans 1 and 0.
    """

    name = "virtuoso"
    isolates = True
    keeps_numbers = False

    def check(self, select: Callable[[str], Iterator[Row]]) -> None:
        """Require REPEATABLE READ or more."""
        ((level,),) = select('SELECT (bif:sys_stat("default_txn_isolation") AS ?level) WHERE { }')
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
        # NOTE: a late update must not find its stages cleared and apply half a change.
        whole: Triple = (stages[0].name, v.WRITE_ID, "whole")
        seal = Stage(stages[0].target, Iri(f"{stages[0].name}:seal"), True, [whole])
        before.append(render_data("INSERT", [(seal.name, seal.triples)]))
        return Update(
            render_staged(change.guard, claim, stages, seal),
            before,
            [seal.name, *(stage.name for stage in stages)],
        )

    def find_cut(self, headers: Mapping[str, str]) -> str:
        """Return one of two headers. State 00000 reports success, also after a deadlock."""
        return next((name for name in _CUT_HEADERS if headers.get(name, _WELL) != _WELL), "")

    def mend_rows(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """Spell booleans `true` and `false`."""
        rest = b""
        for piece in pieces:
            rest = _BOOLEAN.sub(lambda x: b'%b"%b"' % (x[1], _TRUTHS[x[2]]), rest + piece)
            yield rest[:-_LONGEST_BOOLEAN]
            rest = rest[-_LONGEST_BOOLEAN:]
        yield rest

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
    """Return the product for this `Server` header."""
    return VIRTUOSO if server.startswith("Virtuoso") else STANDARD
