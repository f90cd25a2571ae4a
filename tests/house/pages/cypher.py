"""Generates the reference page of the query languages: what is parsed and what is computed."""

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
        "`POST /cypher` runs [clauses that write](../how-to/write-with-cypher.md). In a query they",
        f"are refused, with their name and position: {writing}. In strings,",
        "comments, names and labels these words have no meaning.",
        "",
        "A variable may have any name. These words need backticks:",
        f"{reserved}.",
        "Labels, relationship names and properties may have any name.",
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
    missing = "" if function.name in computed else " *Parsed, but not computed yet.*"
    return f"| `{function.name}` ({arity}{also}) | {function.summary}{missing} |"


def _render_temporal() -> list[str]:
    rows = [
        f"| `{kind.__name__}` | {', '.join(f'`{name}`' for name in sorted(names))} |"
        for kind, names in COMPONENTS.items()
    ]
    return [_TEMPORAL, "| type | components |", "| --- | --- |", *rows, ""]


_INTRODUCTION = """# Query languages

This page is generated from the front end; do not edit it.

`POST /query` accepts two languages. A text whose first word is `SELECT` is a query in the
SQL-like language of Azure Digital Twins; every other text is Cypher. Before either,
[`EXPLAIN`](queries.md#explain) asks for the plan instead of the rows, and
[`PROFILE`](queries.md#profile) runs the query and answers the plan with the rows and the time of
each operator. A query only reads.

An error in a text is answered with 400 `SqlQueryError`. For Cypher the error has the kind and
the detail of the openCypher Technology Compatibility Kit, the line, the column, the text of the
line and a caret. For the SQL-like language it has the wording of the vendor's service, with line
and position.

An error that only the values of a run cause, such as a division by zero, has the same form
whichever engine runs the query: it names the innermost expression that failed. If several rows
fail, the one that is reported may differ from run to run. Exceeded limits (time, rows, memory)
have codes of their own and no position in the text.

Such an error is certain if the failing value is part of the result or decides which rows are.
openCypher does not define in which order the rest is computed, and engines differ. A column that
nothing uses, or a column of a row that a later `WHERE` drops, may or may not make the query
fail. In `MATCH (t) WITH t, 10 / t.v AS x WHERE t.v > 0 RETURN t.v`, a `v` of 0 fails in the
evaluator and not in SQLite. If it must not fail, guard it with `CASE`:
`CASE WHEN t.v > 0 THEN 10 / t.v END`.
"""

_CYPHER = """## Cypher

The reading half of openCypher 9:

- clauses `MATCH`, `OPTIONAL MATCH`, `WHERE`, `WITH`, `UNWIND`, `RETURN`, `ORDER BY`, `SKIP`,
  `LIMIT`, `UNION`, `UNION ALL`;
- patterns: labels, alternatives of relationship names, property maps, all directions, variable
  length, named paths, `shortestPath`, `allShortestPaths`; one match uses a relationship only
  once;
- expressions: all operators, lists, slices, maps, `CASE`, list and pattern comprehensions,
  `all`, `any`, `none`, `single`, `reduce`, patterns as conditions and as values, map projections
  `n {.name}`, parameters `$name`;
- subqueries `EXISTS { }`, `COUNT { }`, `COLLECT { }`, `CALL { }`, `CALL (a, b) { }`;
- label expressions `:A|B`, `:A&B`, `:!A`, `:(A|B)&C`, for nodes, relationships and as
  conditions;
- before the query, `AS OF datetime('...')` names the state of the graph that it reads, see
  [earlier states](../how-to/see-earlier-states.md).

Twins have members that begin with a dollar sign. These mean the same: `` t.`$dtId` ``,
`t['$dtId']`, `t.$dtId`; so do `` {`$dtId`: 'x'} `` and `{$dtId: 'x'}`.

A `range()` that is only iterated takes no memory, however long it is: after `UNWIND` and `IN`,
in `size`, `isEmpty`, `head`, `last`, a subscript, comprehensions, quantifiers and `reduce`, also
through `tail`, `reverse` and `[from..to]`. A `range()` that is kept, as in
`WITH range(1, 9) AS l`, is a list.

A pattern in an expression has a meaning by its place. It defines no variables there.

- In a condition it is true if it matches: in `WHERE`, after `WHEN`, as an operand of `AND`, `OR`,
  `XOR`, `NOT`, a comparison or `IS NULL`, before `IN`, and as a result of `CASE` in such a place.
- `size((a)-->())` is the number of its matches, as `COUNT { (a)-->() }` is; 0 if `a` is null.
- Everywhere else it is the list of its paths, in no particular order:
  `UNWIND (a)-->() AS p`, `[p IN (a)-->() | length(p)]`, `nodes(head((a)-->()))`.
- Alone it is no column of `WITH` or `RETURN`. The openCypher kit demands that error. Write
  `EXISTS { (a)-->() }`, `size((a)-->())` or `[p = (a)-->() | p]`.

A map projection makes a map of a variable's node, relationship or map; of null it is null.

- `n {.name, .$dtId}` has these members. One that does not exist is null.
- `n {.*}` has all that `properties(n)` has. For twins and relationships these are the members
  without a dollar sign; name the others, as in `n {.*, .$dtId}`. The other entries replace those
  of `.*`, wherever it stands.
- `n {key: n.x + 1, other}` has the value of an expression, and that of the variable `other` under
  its name. If a key comes twice, the last value counts.
- Beside an aggregate the variable must be a column of its own: instead of
  `RETURN a {.name, n: count(b)}` write `WITH a, count(b) AS n RETURN a {.name, n}`.

`CALL name(arguments) YIELD result` calls a
[procedure](../how-to/write-with-cypher.md#procedures). A query calls those that only read.
"""

_TEMPORAL = """## Dates, times and durations

Years range from -999,999,999 to 999,999,999, fractions of a second to the nanosecond. A zone is
an offset (`'+01:00'`, `'Z'`) or a name of the time zone database (`'Europe/Oslo'`). The rules of
the zones come with the service, not from the machine. The clock is read in UTC unless a zone is
given.

- From text, in ISO 8601. Dates: `2015-07-21`, `2015-W30-2`, `2015-Q3-21`, `2015-202`, also
  without dashes and without the last parts. Times: `21:40:32.142`, also without colons. Both,
  joined by `T`. Then an offset, a `[name]` or both. Durations: `P1Y2M3W4DT5H6M7.8S` and
  `P2012-02-02T14:37:21.5`.
- From a map: `year` with `month` and `day`, `week` and `dayOfWeek`, `quarter` and
  `dayOfQuarter`, or `ordinalDay`; `hour`, `minute`, `second`, `millisecond`, `microsecond`,
  `nanosecond`; `timezone`; `epochSeconds` or `epochMillis`. `date`, `time` and `datetime` take a
  value whose components the other entries replace. A `timezone` together with a value that has a
  zone keeps the instant; with a value without a zone it keeps the time of day.
- Durations count months, days and seconds separately; these are never converted: `P1M` is not
  `P30D`. Fractions of months and days are passed on by averages (30.436875 days of 24 hours).
- `instant + duration`, `instant - duration`, `duration + duration`, `duration - duration`,
  `duration * number`, `duration / number`. A date adds months, days and the whole days of the
  time. A time of day adds the time and wraps at midnight.
- `<`, `<=`, `>` and `>=` compare instants of one type; durations are only equal or not.
  `ORDER BY` sorts equal instants in several zones from west to east, and durations by their
  average length.
- When clocks are set back, a time that occurs twice is the earlier one. When they are set
  forward, a time that is skipped moves on by the gap.
- In results, and as text, they are strings of ISO 8601 without zero seconds:
  `2015-07-21T21:40Z`.

The properties of twins are JSON, so a stored time is a string. If the twin's model declares a
property as `date`, `dateTime`, `time` or `duration`, it is also read as a value of that type:
`t.built.year`, `t.installed < datetime()`, `ORDER BY t.installed`. The same applies to the parts
of components, objects, maps and arrays, to declared properties of relationships, and to the
result of `properties(t)`. Dates and times without an offset are in UTC. A text that is no such
value stays a string.

Together with a string, a stored time is its stored text: `t.installed > '2024'`,
`t.installed STARTS WITH '2024-05'`, `substring(t.installed, 0, 10)`, `is_string(t.installed)`.
Results contain the stored text, too, and so do the lists and maps in them. Such uses run in the
store. SQLite also sorts by such a member of a node if the times have the usual forms
(`2024-01-31T12:00:00.5+01:00`, `2024-01-31`, `12:00:00Z`). All other uses of the value run in the
evaluator, which takes longer: a component, arithmetic, other orders, `min` and `max`, DISTINCT and
grouping, a comparison with anything but a constant or parameter. Over many twins,
`ORDER BY toString(...)` sorts by the text in the store.

Differences from strings: the order is that of the instants, so `10:00Z` and `11:00+01:00` are
neighbours. `DISTINCT` and groups use the value, so `10:00Z` and `10:00:00.000Z` are one. Two
members of different types, such as a `date` and a `dateTime`, cannot be compared. With
`Query__TemporalProperties` off, all of them are strings. The SQL-like language always compares
text.
"""

_VENDOR = """## The SQL-like language

    SELECT [DISTINCT] [TOP(n)] * | item [, item ...]
    FROM DIGITALTWINS [alias] | RELATIONSHIPS [alias]
    [JOIN target RELATED source.relationship [alias] ...] | [MATCH (a)-[r:name|name*n..m]->(b) ...]
    [WHERE condition] [GROUP BY path, ...] [ORDER BY path [ASC | DESC], ...]

- An item is an alias, a path `T.a.b` (its column is `b`), or `COUNT()`. `AS` names it.
- Conditions: `= != < <= > >=`, `IN [...]`, `NIN [...]`, `NOT` before comparison before `AND`
  before `OR`, `IS_DEFINED`, `IS_NULL`, `IS_BOOL`, `IS_NUMBER`, `IS_STRING`, `IS_OBJECT`,
  `IS_PRIMITIVE`, `ARRAY_CONTAINS`, `CONTAINS`, `STARTSWITH`, `ENDSWITH`,
  `IS_OF_MODEL([alias,] 'dtmi' [, exact])`.
- Keywords may be in any case; names are case-sensitive. Write `[[name]]` for a name that is a
  keyword or has special characters. Strings are in single quotes; `\\'` is a quote in them.
- A row leaves out a property that does not exist. A comparison with a missing property is never
  true.
- `SELECT *` over one collection returns the documents themselves, with `MATCH` the named
  aliases. With `JOIN` it is an error.
- A JOIN may leave out the relationship's alias. The relationship's own name then stands for it:
  `JOIN device RELATED space.has ... WHERE has.role = 'Operator'`. An alias of the same name
  takes precedence. If two JOINs without an alias use relationships of one name, that name is
  refused.
- `[:name*n..m]` excludes n itself, as the vendor's manual says, unless
  `Query__VendorHopsExclusive` is off. `[name]` names the relationship and does not filter.
- `DISTINCT`, `GROUP BY`, `ORDER BY`, `SUM`, `AVG`, `MIN`, `MAX` and `COUNT(path)` are
  extensions; `Query__VendorExtensions` turns them off.
"""
