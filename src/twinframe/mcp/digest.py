"""Renders a short description of a graph: interfaces, counts, relationships, properties, queries.

Outlines and counts are the input; the same graph gives the same text. What exceeds the budget is
left out, the least important first, and the last line says how much that was.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from twinframe.graph.models.outlines import InterfaceOutline, Outlines, PropertyOutline
from twinframe.graph.queries.overview import Counts
from twinframe.model.ids import build_model_name

BYTES_A_TOKEN: Final = 4
"""Bytes per token: a rule of thumb for English and identifiers; tokenizers differ."""

_MOST_PROPERTIES: Final = 16
_FEW_PROPERTIES: Final = 3
_MOST_ENDS: Final = 6
_EXAMPLES: Final = 6
_LONGEST_DESCRIPTION: Final = 120
_LONGEST_CONTENTS: Final = 400
_RESERVE: Final = 160
_MANY_EDGES: Final = 40

_INTERFACES, _NAMES, _EDGES, _DEFINED, _QUERIES = range(5)
_HEADINGS: Final = (
    "Interfaces (twins with subtypes):",
    "Relationships by name:",
    "Relationships that occur:",
    "Relationships that models define (none occurs yet):",
    "Examples:",
)
_GUIDE: Final = (
    "Queries (read-only): Cypher, or the vendor's SELECT ... FROM DIGITALTWINS. A node is a twin; "
    "its labels are its interface's name and those it extends, so (r:Room) finds all kinds of "
    "rooms. Id: t.`$dtId`. Component values: t.climate.temperature. Values by $parameters."
)


@dataclass(frozen=True, slots=True)
class Digest:
    """`text`, and how many `interfaces` and kinds of `relationships` of all are shown."""

    text: str
    interfaces: tuple[int, int]
    relationships: tuple[int, int]

    @property
    def complete(self) -> bool:
        """Whether all of them are shown."""
        return all(shown == all_ for shown, all_ in (self.interfaces, self.relationships))


@dataclass(frozen=True, slots=True)
class Edge:
    """Relationships of one name between groups of interfaces, each given by its labels."""

    name: str
    sources: tuple[str, ...]
    targets: tuple[str, ...]
    count: int

    def render(self) -> str:
        """One line: `Level -contains-> Room 408`."""
        return f"{_join(self.sources)} -{self.name}-> {_join(self.targets)} {self.count}"

    def render_query(self) -> str:
        """Render a query that finds some of them."""
        source, target = (_only(ends) for ends in (self.sources, self.targets))
        return (
            f"MATCH (a{source})-[:{quote_name(self.name)}]->(b{target}) "
            "RETURN a.`$dtId`, b.`$dtId` LIMIT 10"
        )


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of the text: lower ranks are kept first; `section` and `order` give its position.

    A piece with `under` extends the line of that order, and is dropped without it.
    """

    rank: float
    section: int
    order: int
    text: str
    under: bool = False

    @property
    def size(self) -> int:
        return len(self.text.encode()) + 1


@dataclass(slots=True)
class _Page:
    """The text under construction: the headings of sections, and the pieces that fit."""

    room: int
    headings: Sequence[str]
    kept: dict[tuple[int, int], list[_Piece]] = field(default_factory=dict)
    opened: set[int] = field(default_factory=set)

    def add(self, piece: _Piece) -> None:
        key = piece.section, piece.order
        size = piece.size
        if piece.under and key not in self.kept:
            return
        if piece.section not in self.opened:
            size += len(self.headings[piece.section].encode()) + 2
        if size > self.room:
            return
        self.room -= size
        self.opened.add(piece.section)
        self.kept.setdefault(key, []).append(piece)

    def count(self, section: int) -> int:
        return sum(1 for key in self.kept if key[0] == section)

    def render(self) -> Iterator[str]:
        for section in sorted(self.opened):
            yield f"\n{self.headings[section]}"
            for key in sorted(key for key in self.kept if key[0] == section):
                # The line itself, then its extensions, in the order of making.
                pieces = sorted(self.kept[key], key=lambda piece: (piece.under, piece.rank))
                yield "".join(piece.text for piece in pieces)


class DigestBuilder:
    """Builds digests of one state of a graph; `focus` leaves out what is not near those models.

    `history` is a sentence on how far back it goes.

    `focus` has model ids or names; the caller handles unknown ones.
    """

    def __init__(
        self,
        outlines: Outlines,
        counts: Counts,
        focus: frozenset[str] = frozenset(),
        history: str = "",
    ) -> None:
        self._outlines = outlines
        self._history = f"\n{history}" if history else ""
        self._counts = counts
        self._totals = _sum_subtypes(outlines, counts.twins)
        self._populated = _list_populated(outlines, counts.twins)
        self._edges = self._build_edges()
        self._near = self._find_near(focus) if focus else frozenset(outlines.interfaces)
        if focus:
            self._edges = [edge for edge in self._edges if self._touches(edge)]
        self._parts = {
            component.interface
            for one in outlines.interfaces.values()
            for component in one.components
            if not self._totals.get(component.interface)
        }
        self._shown = self._rank_interfaces(focus)
        self._defined = [] if self._edges else list(self._list_defined())
        self._usual = _find_usual_place([one.model_id for one in self._shown])

    @property
    def edges(self) -> Sequence[Edge]:
        """The relationships that occur, the most frequent first."""
        return self._edges

    def build(self, max_tokens: int) -> Digest:
        """Build the digest in at most this many tokens, of four bytes each."""
        header = self._render_header()
        room = max_tokens * BYTES_A_TOKEN - len(header.encode()) - _RESERVE
        page = _Page(room, _HEADINGS)
        for piece in sorted(self._list_pieces(), key=lambda one: (one.rank, one.section)):
            page.add(piece)
        interfaces = page.count(_INTERFACES), len(self._shown)
        relationships = (
            page.count(_EDGES) + page.count(_DEFINED),
            len(self._edges) + len(self._defined),
        )
        lines = [header, *page.render()]
        if interfaces[0] < interfaces[1] or relationships[0] < relationships[1]:
            lines.append(
                f"\nNot shown: {interfaces[1] - interfaces[0]} interfaces, "
                f"{relationships[1] - relationships[0]} kinds of relationships. Raise max_tokens, "
                "set model_filter, or use search_models."
            )
        return Digest("\n".join(lines), interfaces, relationships)

    # --- what there is -----------------------------------------------------------------------

    def _render_header(self) -> str:
        relationships = sum(one.count for one in self._counts.relationships)
        used = sum(1 for count in self._counts.twins.values() if count)
        return (
            f"{sum(self._counts.twins.values())} twins of {used} interfaces "
            f"({len(self._outlines.interfaces)} stored), {relationships} relationships.\n{_GUIDE}"
            f"{self._render_ids()}{self._history}"
        )

    def _render_ids(self) -> str:
        """Describe the form of the ids, so that they need not be repeated with each interface."""
        if self._usual is None:
            return ""
        before, after = self._usual
        return f"\nModel ids: {before}NAME{after} where no other is given."

    def _rank_interfaces(self, focus: frozenset[str]) -> list[InterfaceOutline]:
        """Rank by number of twins; those without any by request, then by number of descendants."""
        extending = Counter(
            base for one in self._outlines.interfaces for base in self._outlines.list_ancestors(one)
        )

        def place(one: InterfaceOutline) -> tuple[int, bool, bool, int, str]:
            return (
                -self._totals.get(one.model_id, 0),
                not names(one.model_id, focus),
                one.model_id in self._parts,
                -extending[one.model_id],
                one.model_id,
            )

        return sorted((self._outlines.interfaces[one] for one in self._near), key=place)

    def _list_defined(self) -> Iterator[str]:
        """Yield the possible relationships of twins, a line for each name and end of an
        interface.
        """
        for outline in self._shown:
            source = self._outlines.render_label(outline.model_id)
            for one in outline.relationships:
                target = "any" if one.target is None else self._outlines.render_label(one.target)
                yield f"{source} -{quote_name(one.name)}-> {target}"

    def _find_near(self, focus: frozenset[str]) -> frozenset[str]:
        """Return the interfaces of these ids or names, their descendants, and their ancestors."""
        above = {one: self._outlines.list_ancestors(one) for one in self._outlines.interfaces}
        wanted = {one for one in above if names(one, focus)}
        near = {one for one, bases in above.items() if not wanted.isdisjoint(bases)}
        return frozenset(near.union(*(above[one] for one in wanted)))

    def _touches(self, edge: Edge) -> bool:
        labels = {label.strip("`") for label in (*edge.sources, *edge.targets)}
        return not labels.isdisjoint({*self._near, *map(build_model_name, self._near)})

    def _build_edges(self) -> list[Edge]:
        """Build counts of pairs of models, merged where ends are the same or all of one kind."""
        targets: dict[tuple[str, str], set[str]] = defaultdict(set)
        amounts: dict[tuple[str, str], int] = defaultdict(int)
        for one in self._counts.relationships:
            targets[one.name, one.source].add(one.target)
            amounts[one.name, one.source] += one.count
        sources: dict[tuple[str, frozenset[str]], set[str]] = defaultdict(set)
        for (name, source), ends in targets.items():
            sources[name, frozenset(ends)].add(source)
        edges = [
            Edge(
                name,
                self._summarize(starts),
                self._summarize(ends),
                sum(amounts[name, source] for source in starts),
            )
            for (name, ends), starts in sources.items()
        ]
        return sorted(edges, key=lambda edge: (-edge.count, edge.name, edge.sources, edge.targets))

    def _summarize(self, model_ids: Iterable[str]) -> tuple[str, ...]:
        """Return the one interface whose twins are of just these models, if there is one; else
        all.
        """
        wanted = frozenset(model_ids)
        first = min(wanted)
        if len(wanted) > 1:
            for base in self._outlines.list_ancestors(first):
                if self._populated.get(base) == wanted:
                    return (self._outlines.render_label(base),)
        return tuple(map(self._outlines.render_label, sorted(wanted)))

    # --- what is said of it ------------------------------------------------------------------

    def _list_pieces(self) -> Iterator[_Piece]:
        # NOTE: interfaces without twins come after everything about those with some.
        some = any(self._totals.get(outline.model_id) for outline in self._shown)
        for at, outline in enumerate(self._shown):
            rank = at + 1000 if some and not self._totals.get(outline.model_id) else at
            yield _Piece(rank, _INTERFACES, at, self._render_interface(outline))
            if where := self._render_place(outline):
                yield _Piece(rank * 3 + 5, _INTERFACES, at, where, under=True)
            if outline.model_id in self._parts:
                continue  # its contents are shown with each interface that it is a part of
            if contents := self._render_contents(outline):
                yield _Piece(rank * 2 + 2, _INTERFACES, at, f": {contents}", under=True)
            if outline.description:
                text = " ".join(outline.description.split())[:_LONGEST_DESCRIPTION]
                yield _Piece(rank * 8 + 30, _INTERFACES, at, f" — {text}", under=True)
        if len(self._edges) > _MANY_EDGES:
            for at, line in enumerate(self._list_names()):
                yield _Piece(at * 1.2 + 0.2, _NAMES, at, line)
        for at, edge in enumerate(self._edges):
            yield _Piece(at * 1.5 + 0.5, _EDGES, at, edge.render())
        for at, line in enumerate(self._defined):
            yield _Piece(at * 1.5 + 0.5, _DEFINED, at, line)
        for at, query in enumerate(self._list_examples()):
            yield _Piece(at * 5 + 3, _QUERIES, at, query)

    def _render_interface(self, outline: InterfaceOutline) -> str:
        label = self._outlines.render_label(outline.model_id)
        twins = self._totals.get(outline.model_id, 0)
        own = self._counts.twins.get(outline.model_id, 0)
        few = f", {own} itself" if own and own != twins else ""
        bases = ", ".join(map(self._outlines.render_label, outline.extends))
        ended = " (decommissioned)" if outline.decommissioned else ""
        if outline.model_id in self._parts:
            ended = " (component)"
        return f"{label} {twins}{few}{bases and ' extends ' + bases}{ended}"

    def _render_place(self, outline: InterfaceOutline) -> str:
        """Render the id, if it is not of the usual form and not the label itself."""
        is_usual = _split_id(outline.model_id) == self._usual
        is_label = self._outlines.render_label(outline.model_id).startswith("`")
        return "" if is_usual or is_label else f" [{outline.model_id}]"

    def _render_contents(self, outline: InterfaceOutline) -> str:
        """Render its own properties and components; inherited ones are shown where they are
        defined.
        """
        parts = [str(one) for one in outline.properties[:_MOST_PROPERTIES]]
        if len(outline.properties) > _MOST_PROPERTIES:
            parts.append(f"… {len(outline.properties) - _MOST_PROPERTIES} more")
        if outline.derived:
            parts.append(f"derived (read-only): {' '.join(outline.derived)}")
        inside = {
            component.name: [
                one
                for base, _ in self._outlines.list_contents(component.interface)
                for one in base.properties[:_MOST_PROPERTIES]
            ]
            for component in outline.components
        }
        full = [_render_part(name, map(str, inner)) for name, inner in inside.items()]
        text = ", ".join([*parts, *full])
        if len(text) > _LONGEST_CONTENTS:
            # NOTE: a missing component is a greater loss than missing types of members.
            brief = [_render_part(name, _list_few(inner)) for name, inner in inside.items()]
            text = ", ".join([*parts, *brief])
        return text if len(text) <= _LONGEST_CONTENTS else f"{text[:_LONGEST_CONTENTS]}…"

    def _list_names(self) -> Iterator[str]:
        """Yield the names alone, most frequent first: the rest when there are too many kinds."""
        totals, kinds = Counter[str](), Counter[str]()
        for edge in self._edges:
            totals[edge.name] += edge.count
            kinds[edge.name] += 1
        for name in sorted(totals, key=lambda one: (-totals[one], one)):
            yield f"{name} {totals[name]} in {kinds[name]} kinds"

    def _list_examples(self) -> Iterator[str]:
        """Yield a query for each main relation, most frequent first, each name once."""
        seen = set[str]()
        for edge in self._edges:
            if edge.name not in seen and len(seen) < _EXAMPLES:
                seen.add(edge.name)
                yield edge.render_query()


def names(model_id: str, focus: frozenset[str]) -> bool:
    """Return whether the id, or its last name segment, is one of these."""
    return model_id in focus or build_model_name(model_id) in focus


def quote_name(name: str) -> str:
    """Render a name of a model for a query."""
    return name if name.isidentifier() and name.isascii() else f"`{name.replace('`', '``')}`"


def _render_part(name: str, members: Iterable[str]) -> str:
    return f"{name}.{{{', '.join(islice(members, _MOST_PROPERTIES))}}}"


def _list_few(properties: Sequence[PropertyOutline]) -> list[str]:
    more = ["…"] if len(properties) > _FEW_PROPERTIES else []
    return [*(one.name for one in properties[:_FEW_PROPERTIES]), *more]


def _split_id(model_id: str) -> tuple[str, str]:
    """Return what is before the name, and after it: `dtmi:com:example:` and `;1`."""
    path, mark, version = model_id.partition(";")
    return path[: len(path) - len(build_model_name(model_id))], mark + version


def _find_usual_place(model_ids: Sequence[str]) -> tuple[str, str] | None:
    """Return the most common of these, if more than one id has it."""
    found = Counter(map(_split_id, model_ids))
    place, times = min(found.items(), key=lambda one: (-one[1], one[0]), default=(None, 0))
    return place if times > 1 else None


def _sum_subtypes(outlines: Outlines, twins: Mapping[str, int]) -> dict[str, int]:
    totals: dict[str, int] = defaultdict(int)
    for model_id, count in twins.items():
        for base in outlines.list_ancestors(model_id):
            totals[base] += count
    return totals


def _list_populated(outlines: Outlines, twins: Mapping[str, int]) -> dict[str, frozenset[str]]:
    """Return for each interface itself and its descendants that have twins."""
    found: dict[str, set[str]] = defaultdict(set)
    for model_id in twins:
        for base in outlines.list_ancestors(model_id):
            found[base].add(model_id)
    return {base: frozenset(below) for base, below in found.items()}


def _join(labels: Sequence[str]) -> str:
    more = [] if len(labels) <= _MOST_ENDS else [f"{len(labels) - _MOST_ENDS} more"]
    return "|".join([*labels[:_MOST_ENDS], *more])


def _only(labels: Sequence[str]) -> str:
    """Render the labels for a pattern; several are alternatives."""
    return ":" + "|".join(labels[:_MOST_ENDS])
