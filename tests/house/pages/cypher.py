"""Generates the reference page of the query languages: what is parsed and what is computed."""

# ruff: noqa: E501 -- the page's text is wrapped as text
from __future__ import annotations

from typing import TYPE_CHECKING

from twinframe.model.temporal.components import COMPONENTS
from twinframe.query.cypher.functions import FUNCTIONS, Function
from twinframe.query.cypher.tokens import RESERVED, WRITING_CLAUSES
from twinframe.query.options import FrontEndOptions

if TYPE_CHECKING:
    from collections.abc import Collection


def render_cypher_page(computed: Collection[str]) -> str:
    """Render the page `docs/reference/cypher.md`.

    `computed` are the canonical names of the functions that this version computes.
    """
    lines = [_INTRODUCTION, *_render_limits(), _CYPHER, *_render_words(), "## Functions", ""]
    for group in dict.fromkeys(function.group for function in FUNCTIONS):
        lines += [f"### {group}", "", "| function | meaning |", "| --- | --- |"]
        lines += [
            _render_function(function, computed)
            for function in FUNCTIONS
            if function.group == group
        ]
        lines.append("")
    return "\n".join([*lines, *_render_temporal(), _VENDOR])


def _render_limits() -> list[str]:
    options = FrontEndOptions()
    return [
        "| limit | default |",
        "| --- | --- |",
        f"| bytes of a text (`Query__MaxTextBytes`) | {options.max_text_bytes} |",
        f"| words, values and symbols, constants in lists not counted | {options.max_words} |",
        f"| constants in lists | {options.max_constants} |",
        f"| nesting of expressions and subqueries (`Query__MaxDepth`) | {options.max_depth} |",
        f"| relationships of one variable-length pattern (`Query__MaxHops`) | {options.max_hops} |",
        f"| operations that follow from one another | {options.max_height} |",
        f"| nodes and relationships of one MATCH | {options.max_elements} |",
        "",
    ]


def _render_words() -> list[str]:
    writing = ", ".join(f"`{word}`" for word in sorted(WRITING_CLAUSES))
    reserved = ", ".join(f"`{word}`" for word in sorted(RESERVED))
    return [
        f"Refused by name and place, wherever a clause may stand: {writing}. Inside of strings,",
        "comments, names and labels these words mean nothing.",
        "",
        "A variable may bear any other name without backticks; these words need them:",
        f"{reserved}.",
        "Labels, relationship names and properties may bear any name.",
        "",
    ]


def _render_function(function: Function, computed: Collection[str]) -> str:
    if function.maximum is None:
        arity = f"{function.minimum} or more arguments"
    elif function.minimum == function.maximum:
        arity = f"{function.minimum} argument{'' if function.minimum == 1 else 's'}"
    else:
        arity = f"{function.minimum} to {function.maximum} arguments"
    also = "".join(f", also `{alias}`" for alias in function.aliases)
    missing = "" if function.name in computed else " *Read, but not computed yet.*"
    return f"| `{function.name}` ({arity}{also}) | {function.summary}{missing} |"


def _render_temporal() -> list[str]:
    rows = [
        f"| `{kind.__name__}` | {', '.join(f'`{name}`' for name in sorted(names))} |"
        for kind, names in COMPONENTS.items()
    ]
    return [_TEMPORAL, "| type | components |", "| --- | --- |", *rows, ""]


_INTRODUCTION = """# Query languages

This page is generated from the front end; do not edit it.

`POST /query` takes two languages. A text whose first word is `SELECT` is a query in the SQL-like
language of Azure Digital Twins; every other text is Cypher. `EXPLAIN` before either shows the plan
instead of the rows. A query only reads.

What is wrong with a text is answered with 400 `SqlQueryError`: for Cypher the kind and the detail of
the openCypher Technology Compatibility Kit, line, column, the line itself and a caret; for the
SQL-like language the words of the vendor's service, with line and position. An error that only the
values of a run bring to light, such as a division by zero, is answered the same way whichever engine
runs the query: it names the innermost expression that failed. One row decides that; which of several
failing rows it is may differ from run to run. Limits (time, rows, memory) have a code of their own
and no place in the text.

Such an error is certain where the failing value is part of the result or decides what is. openCypher
does not say in which order the rest is computed, and engines differ: a column that nothing uses, or
that of a row which a later `WHERE` drops, may fail the query or not. In
`MATCH (t) WITH t, 10 / t.v AS x WHERE t.v > 0 RETURN t.v` a `v` of 0 fails in the evaluator, not in
SQLite. Where it must not fail, let `CASE` guard it: `CASE WHEN t.v > 0 THEN 10 / t.v END`.
"""

_CYPHER = """## Cypher

The reading half of openCypher 9:

- clauses `MATCH`, `OPTIONAL MATCH`, `WHERE`, `WITH`, `UNWIND`, `RETURN`, `ORDER BY`, `SKIP`, `LIMIT`,
  `UNION`, `UNION ALL`;
- patterns: labels, alternatives of relationship names, property maps, all directions, variable
  length, named paths, `shortestPath`, `allShortestPaths`; a relationship is crossed once in a match;
- expressions: all operators, lists, slices, maps, `CASE`, list and pattern comprehensions,
  `all`, `any`, `none`, `single`, `reduce`, patterns as conditions, parameters `$name`;
- subqueries `EXISTS { }`, `COUNT { }`, `COLLECT { }`, `CALL { }`, `CALL (a, b) { }`;
- label expressions `:A|B`, `:A&B`, `:!A`, `:(A|B)&C`, for nodes, relationships and as conditions.

Twins have members that begin with a dollar sign. These mean the same: `` t.`$dtId` ``,
`t['$dtId']`, `t.$dtId`; so do `` {`$dtId`: 'x'} `` and `{$dtId: 'x'}`.

A `range()` whose numbers are only gone through is not built and takes no memory, however many they
are: behind `UNWIND` and `IN`, in `size`, `isEmpty`, `head`, `last`, a subscript, comprehensions,
quantifiers and `reduce`, also through `tail`, `reverse` and `[from..to]`. One that is kept, as in
`WITH range(1, 9) AS l`, is a list.

There are no procedures: `CALL name()` is refused. Map projections `n {.name}` are not read.
"""

_TEMPORAL = """## Dates, times and durations

Years go from -999,999,999 to 999,999,999, fractions to the nanosecond. Zones are offsets (`'+01:00'`,
`'Z'`) or names of the time zone database (`'Europe/Oslo'`), whose rules come with the service, not
from the machine. Without a zone, the clock is read in UTC.

- From text, by ISO 8601: dates `2015-07-21`, `2015-W30-2`, `2015-Q3-21`, `2015-202`, also without
  dashes and cut at the end; times `21:40:32.142`, also without colons; both around a `T`; then an
  offset, a `[name]` or both; durations `P1Y2M3W4DT5H6M7.8S` and `P2012-02-02T14:37:21.5`.
- From a map: `year` with `month` and `day`, `week` and `dayOfWeek`, `quarter` and `dayOfQuarter`, or
  `ordinalDay`; `hour`, `minute`, `second`, `millisecond`, `microsecond`, `nanosecond`; `timezone`;
  `epochSeconds` or `epochMillis`; `date`, `time` and `datetime` take a value whose components the
  others replace. A `timezone` beside a value that has a zone keeps the instant, else the time of day.
- Durations count months, days and seconds apart, which never turn into each other: `P1M` is not
  `P30D`. Fractions of a month or day go down by averages (30.436875 days of 24 hours).
- `instant + duration`, `instant - duration`, `duration + duration`, `duration - duration`,
  `duration * number`, `duration / number`. A date takes months, days and whole days of the time; a
  time of day takes the time and wraps at midnight.
- `<` and its like compare instants of one type; durations are equal or not. `ORDER BY` sorts one
  instant in several zones from west to east, and durations by their average length.
- A clock time that comes twice, when clocks are put back, is the earlier one; one that is left out
  moves on by the gap.
- In results, and as text, they are strings of ISO 8601 without zero seconds: `2015-07-21T21:40Z`.

The properties of twins are JSON, so that a stored time is a string. What the twin's model declares
as `date`, `dateTime`, `time` or `duration` is read as a value of that type as well:
`t.built.year`, `t.installed < datetime()`, `ORDER BY t.installed`. So are the parts of components,
objects, maps and arrays, the declared properties of relationships, and what `properties(t)` gives;
dates and times without an offset are in UTC. A text that is no such value stays a string.

Beside a string, a stored time is the text that is stored: `t.installed > '2024'`,
`t.installed STARTS WITH '2024-05'`, `substring(t.installed, 0, 10)`, `is_string(t.installed)`.
Results give the text that is stored, too. Such uses run in the store. SQLite also sorts by such a
member of a node where the times have the usual forms (`2024-01-31T12:00:00.5+01:00`, `2024-01-31`,
`12:00:00Z`). What else needs the value (a component, arithmetic, another order, `min` and `max`,
DISTINCT and grouping, a comparison with another value than a constant or parameter) runs in the
evaluator, which takes longer: over many twins, `ORDER BY toString(...)` sorts by the text, in the
store.

What differs from strings: an order goes by the instant, so that `10:00Z` and `11:00+01:00` stand
next to each other; `DISTINCT` and groups go by the value, so that `10:00Z` and `10:00:00.000Z` are
one; two members of different types, a `date` and a `dateTime`, are not comparable.
`Query__TemporalProperties` turned off makes all of them strings again. The SQL-like language
compares text in any case.
"""

_VENDOR = """## The SQL-like language

    SELECT [DISTINCT] [TOP(n)] * | item [, item ...]
    FROM DIGITALTWINS [alias] | RELATIONSHIPS [alias]
    [JOIN target RELATED source.relationship [alias] ...] | [MATCH (a)-[r:name|name*n..m]->(b) ...]
    [WHERE condition] [GROUP BY path, ...] [ORDER BY path [ASC | DESC], ...]

- An item is an alias, a path `T.a.b` (its column is called `b`), or `COUNT()`; `AS` names it.
- Conditions: `= != < <= > >=`, `IN [...]`, `NIN [...]`, `NOT` before comparison before `AND` before
  `OR`, `IS_DEFINED`, `IS_NULL`, `IS_BOOL`, `IS_NUMBER`, `IS_STRING`, `IS_OBJECT`, `IS_PRIMITIVE`,
  `ARRAY_CONTAINS`, `CONTAINS`, `STARTSWITH`, `ENDSWITH`, `IS_OF_MODEL([alias,] 'dtmi' [, exact])`.
- Keywords in any case; names keep theirs. `[[name]]` is a name that would be a keyword or has odd
  characters. Strings stand in single quotes, `\\'` is a quote in them.
- A row without a property leaves it out. A comparison with a missing property is never true.
- `SELECT *` over one collection gives the documents themselves; with `JOIN` it is an error; with
  `MATCH` it gives the named aliases.
- A JOIN may leave out the relationship's alias; it then goes by its own name:
  `JOIN device RELATED space.has ... WHERE has.role = 'Operator'`. An alias of that name comes first.
  When two JOINs without an alias cross relationships of one name, that name is refused.
- `[:name*n..m]` leaves out n itself, as the vendor's manual says, unless
  `Query__VendorHopsExclusive` is off; `[name]` names the relationship and does not filter.
- `DISTINCT`, `GROUP BY`, `ORDER BY`, `SUM`, `AVG`, `MIN`, `MAX` and `COUNT(path)` are extensions;
  `Query__VendorExtensions` switches them off.
"""
