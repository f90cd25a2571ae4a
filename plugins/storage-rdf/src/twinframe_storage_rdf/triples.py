"""The triples of one graph in memory: reading, changing with undo, copying. It knows no twin."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from rdflib import Dataset, Literal, URIRef
from rdflib.term import Node

Triple = tuple[URIRef, URIRef, URIRef | Literal]


class Triples:
    """The triples of the named graph `iri` inside a dataset of their own."""

    def __init__(self, iri: URIRef) -> None:
        self._iri = iri
        self._dataset = Dataset(default_union=False)
        self._graph = self._dataset.graph(iri)
        self._journal: list[tuple[bool, Triple]] = []

    def __iter__(self) -> Iterator[tuple[Node, Node, Node]]:
        return iter(self._graph)

    # --- reading ------------------------------------------------------------------------------

    def read_text(self, subject: URIRef, predicate: URIRef) -> str | None:
        """The one value of a property as text; None when there is none."""
        value = self._graph.value(subject, predicate)
        return None if value is None else str(value)

    def has(self, subject: URIRef, predicate: URIRef, value: URIRef | None = None) -> bool:
        """Whether the subject has the property, with this value if one is given."""
        return (subject, predicate, value) in self._graph

    def read_subjects(self, predicate: URIRef, value: URIRef | Literal) -> list[URIRef]:
        """The subjects whose property has this value, in no particular order."""
        return [s for s in self._graph.subjects(predicate, value) if isinstance(s, URIRef)]

    def read_objects(self, subject: URIRef, predicate: URIRef) -> list[URIRef]:
        """The resources that are values of a property, in no particular order."""
        return [o for o in self._graph.objects(subject, predicate) if isinstance(o, URIRef)]

    # --- changing -----------------------------------------------------------------------------

    def add(self, triples: Iterable[Triple]) -> None:
        """Add triples; one that is there already stays as it is."""
        for triple in triples:
            if triple not in self._graph:
                self._graph.add(triple)
                self._journal.append((True, triple))

    def remove(self, subject: URIRef, *predicates: URIRef) -> None:
        """Remove the subject's values of these properties, of all properties if none is named."""
        wanted: tuple[URIRef | None, ...] = predicates or (None,)
        for predicate in wanted:
            for found in list(self._graph.triples((subject, predicate, None))):
                self._graph.remove(found)
                self._journal.append((False, _as_triple(found)))

    def begin(self) -> int:
        """A mark for `undo`."""
        return len(self._journal)

    def undo(self, mark: int) -> None:
        """Take back all changes since the mark."""
        while len(self._journal) > mark:
            added, triple = self._journal.pop()
            if added:
                self._graph.remove(triple)
            else:
                self._graph.add(triple)

    def forget(self) -> None:
        """Make all changes so far final."""
        self._journal.clear()

    def copy(self) -> Triples:
        """The same triples once more, to be changed apart from these."""
        other = Triples(self._iri)
        for triple in self._graph:
            other._graph.add(triple)
        return other


class SharedTriples:
    """The current triples of a graph for all sessions and one writer at a time.

    A snapshot pins the triples it reads; a writer that finds them pinned goes on with a copy. All
    other reading and writing takes turns.
    """

    def __init__(self, iri: URIRef) -> None:
        self._turn = threading.RLock()
        self._iri = iri
        self._current = Triples(iri)
        self._pins: dict[int, int] = {}

    @contextmanager
    def reading(self) -> Iterator[Triples]:
        """The current triples, which nobody changes meanwhile."""
        with self._turn:
            yield self._current

    @contextmanager
    def pinned(self) -> Iterator[Triples]:
        """The current triples, which nobody changes as long as they are pinned."""
        with self._turn:
            triples = self._current
            self._pins[id(triples)] = self._pins.get(id(triples), 0) + 1
        try:
            yield triples
        finally:
            with self._turn:
                self._pins[id(triples)] -= 1
                if not self._pins[id(triples)]:
                    del self._pins[id(triples)]

    @contextmanager
    def writing(self) -> Iterator[Triples]:
        """The triples to change; readers that pinned others do not see it, all others wait."""
        with self._turn:
            if id(self._current) in self._pins:
                self._current = self._current.copy()
            yield self._current
            self._current.forget()

    def clear(self) -> None:
        """Go on with no triples; readers that pinned others keep those."""
        with self._turn:
            self._current = Triples(self._iri)


def _as_triple(found: tuple[Node, Node, Node]) -> Triple:
    subject, predicate, value = found
    if (
        isinstance(subject, URIRef)
        and isinstance(predicate, URIRef)
        and isinstance(value, (URIRef, Literal))
    ):
        return subject, predicate, value
    raise TypeError(f"not a triple of a twin graph: {found!r}")
