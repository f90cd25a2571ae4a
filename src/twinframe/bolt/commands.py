"""The administration commands that tools of Neo4j send: `SHOW ...` is answered, others are refused.

A command becomes a query over the rows that answer it, so that its YIELD, WHERE and RETURN mean
what they mean in a query. SPEC: https://neo4j.com/docs/operations-manual/5/.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, NamedTuple

from twinframe.bolt.failures import CommandRefused
from twinframe.errors import QueryInvalid
from twinframe.model.values import Value
from twinframe.query.cypher.functions import FUNCTIONS

SYSTEM: Final = "system"
"""The name of a database that has no graph and answers commands alone."""

_ROWS: Final = "rows of the command"
_FIRST: Final = re.compile(
    r"\s*(?:SHOW|CREATE|DROP|ALTER|GRANT|DENY|REVOKE|RENAME|TERMINATE|START|STOP)\b", re.IGNORECASE
)
_INDEX: Final = r"(?:(?:ALL|RANGE|TEXT|POINT|LOOKUP|FULLTEXT|VECTOR|BTREE)\s+)?INDEX(?:ES)?"
_CONSTRAINT: Final = r"(?:[A-Z]+\s+){0,3}?CONSTRAINTS?"
_REFUSED: Final = re.compile(
    r"\s*((?:CREATE|DROP)\s+(?:OR\s+REPLACE\s+)?"
    rf"(?:(?P<index>{_INDEX})|(?P<constraint>{_CONSTRAINT})|(?:COMPOSITE\s+)?DATABASE|ALIAS|USER"
    r"|(?:IMMUTABLE\s+)?ROLE)"
    r"|(?:ALTER|GRANT|DENY|REVOKE|RENAME|TERMINATE|START|STOP|SHOW)\s+\w+)\b(?!\s*=)",
    re.IGNORECASE,
)
_NAME: Final = r"(?!(?:YIELD|WHERE)\b)(?:`[^`]+`|[\w$][\w$.-]*)"
_SHOW: Final = re.compile(
    r"\s*SHOW\s+(?:"
    r"(?P<databases>(?:ALL\s+)?DATABASES|(?P<usual>(?:DEFAULT|HOME)\s+DATABASE))"
    rf"|DATABASES?(?:\s+(?P<name>{_NAME}|\$\w+))?(?P<database>)"
    r"|PROCEDURES?(?P<procedures>)(?:\s+EXECUTABLE(?:\s+BY\s+CURRENT\s+USER)?)?"
    r"|(?:ALL\s+|BUILT\s+IN\s+)?FUNCTIONS?(?P<functions>)"
    r"(?:\s+EXECUTABLE(?:\s+BY\s+CURRENT\s+USER)?)?"
    rf"|(?P<indexes>{_INDEX})|(?P<constraints>{_CONSTRAINT})"
    r"|CURRENT\s+USER(?P<user>))"
    r"(?P<rest>\s*(?:(?:YIELD|WHERE)\b.*)?);?\s*",
    re.IGNORECASE | re.DOTALL,
)
_QUOTED: Final = re.compile(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|`[^`]*`", re.DOTALL)
_RETURN: Final = re.compile(r"\bRETURN\b", re.IGNORECASE)
_ITEMS_END: Final = re.compile(r"\b(?:ORDER\s+BY|SKIP|OFFSET|LIMIT|WHERE)\b", re.IGNORECASE)
_ALIAS: Final = re.compile(r"\s+AS\s+", re.IGNORECASE)

_DATABASE: Final = (
    *("name", "type", "aliases", "access", "address", "role", "writer", "requestedStatus"),
    *("currentStatus", "statusMessage", "default", "home", "constituents"),
)
_INDEXES: Final = (
    *("id", "name", "state", "populationPercent", "type", "entityType", "labelsOrTypes"),
    *("properties", "indexProvider", "owningConstraint", "lastRead", "readCount"),
)
_CONSTRAINTS: Final = (
    *("id", "name", "type", "entityType", "labelsOrTypes", "properties", "ownedIndex"),
    "propertyType",
)
_USER: Final = ("user", "roles", "passwordChangeRequired", "suspended", "home")
_LISTED: Final = "CALL dbms.procedures() YIELD name, description, mode, signature"


class Command(NamedTuple):
    """The query that answers a command, and its parameters."""

    text: str
    parameters: dict[str, Value]


class Surroundings(NamedTuple):
    """What the commands show beside the graph.

    `find_graph` says whether the caller may see the graph of this name. `address` is that of Bolt,
    `user` the caller's name.
    """

    home: str
    address: str
    user: str
    find_graph: Callable[[str], Awaitable[bool]]


def may_be_command(text: str) -> bool:
    """Return whether a text may be a command, without parsing it."""
    return _FIRST.match(text) is not None


async def build_command(
    text: str, parameters: Mapping[str, Value], around: Surroundings
) -> Command | None:
    """Return what answers a command; None for other texts.

    Raises `CommandRefused`, `QueryInvalid`.
    """
    found = _SHOW.fullmatch(text)
    if found is None:
        refused = _REFUSED.match(text)
        if refused is not None:
            raise _build_refusal(refused)
        return None
    rest, names = found["rest"].strip(), found.groupdict()
    if names["procedures"] is not None:
        columns = ("name", "description", "mode", "worksOnSystem", "signature")
        head = f"{_LISTED} WITH name, description, mode, false AS worksOnSystem, signature"
        return Command(_build_query(head, columns, 4, rest), {**parameters})
    if names["functions"] is not None:
        return _build(_list_functions(), ("name", "category", "description"), rest, parameters)
    if names["indexes"] is not None:
        return _build((), _INDEXES, rest, parameters)
    if names["constraints"] is not None:
        return _build((), _CONSTRAINTS, rest, parameters)
    if names["user"] is not None:
        user = dict(zip(_USER, (around.user, None, False, None, around.home), strict=True))
        return _build((user,), _USER, rest, parameters)
    rows = await _list_databases(found, parameters, around)
    return _build(rows, _DATABASE, rest, parameters)


def _build_refusal(found: re.Match[str]) -> CommandRefused:
    command = " ".join(found[1].upper().split())
    if found["index"]:
        why = "The store has the indexes that it needs."
    elif found["constraint"]:
        why = "Models say what nodes may have, and $dtId is unique."
    else:
        why = "Users, permissions and graphs are managed over HTTP."
    return CommandRefused(
        f"{command} is a command of Neo4j's administration, which this service has not. {why} It "
        "answers SHOW with DATABASES, PROCEDURES, FUNCTIONS, INDEXES, CONSTRAINTS and CURRENT USER."
    )


def _list_functions() -> list[dict[str, Value]]:
    found: list[dict[str, Value]] = []
    for one in FUNCTIONS:
        needed = [f"argument{n}" for n in range(1, one.minimum + 1)]
        if one.maximum is None:
            needed.append("...")
        else:
            needed += [f"argument{n}?" for n in range(one.minimum + 1, one.maximum + 1)]
        found.append(
            {
                "name": one.name,
                "category": one.group,
                "description": one.summary,
                "signature": f"{one.name}({', '.join(needed)})",
                "isBuiltIn": True,
            }
        )
    return sorted(found, key=lambda row: str(row["name"]))


async def _list_databases(
    found: re.Match[str], parameters: Mapping[str, Value], around: Surroundings
) -> list[dict[str, Value]]:
    name = found["name"]
    if name is None:
        names = [around.home] if found["usual"] else list(dict.fromkeys((around.home, SYSTEM)))
    else:
        given = parameters.get(name[1:]) if name.startswith("$") else name.strip("`")
        is_there = given in (around.home, SYSTEM) or await around.find_graph(str(given))
        names = [str(given)] if is_there else []
    return [
        {
            "name": one,
            "type": SYSTEM if one == SYSTEM != around.home else "standard",
            "aliases": [],
            "access": "read-write",
            "address": around.address,
            "role": "primary",
            "writer": True,
            "requestedStatus": "online",
            "currentStatus": "online",
            "statusMessage": "",
            "default": one == around.home,
            "home": one == around.home,
            "constituents": [],
        }
        for one in names
    ]


def _build(
    rows: Sequence[Mapping[str, Value]],
    columns: Sequence[str],
    rest: str,
    parameters: Mapping[str, Value],
) -> Command:
    """Return the query over these rows, which have the columns and may have more."""
    known = list(dict.fromkeys((*columns, *(rows[0] if rows else ()))))
    items = ", ".join(f"row.`{one}` AS `{one}`" for one in known)
    head = f"UNWIND $`{_ROWS}` AS row WITH {items}"
    text = _build_query(head, known, len(columns), rest)
    return Command(text, {**parameters, _ROWS: [dict(row) for row in rows]})


def _build_query(head: str, columns: Sequence[str], usual: int, rest: str) -> str:
    """Return a query with the clauses of a command; the first `usual` columns need no YIELD."""
    shown = [f"`{one}`" for one in columns]
    if not rest.upper().startswith("YIELD"):
        return f"{head} {rest} RETURN {', '.join(shown[:usual])}"
    rest = rest[len("YIELD") :]
    plain = _QUOTED.sub(lambda quoted: "x" * len(quoted[0]), rest)
    returned = _RETURN.search(plain)
    clauses, last = (rest, "") if returned is None else _split(rest, returned.start())
    end = _ITEMS_END.search(plain, 0, len(clauses))
    items, tail = (clauses, "") if end is None else _split(clauses, end.start())
    if items.strip() == "*":
        items = ", ".join(shown)
    pairs = [_ALIAS.split(one.strip()) for one in items.split(",")]
    for name, *_ in pairs:
        if name.strip("`") not in columns:
            raise QueryInvalid(
                f"The command has no column {name}. There are: {', '.join(columns)}.",
                detail="UndefinedVariable",
            )
    if not last:
        last = f"RETURN {', '.join(names[-1] for names in pairs)}"
    return f"{head} WITH {items.strip()} {tail.strip()} {last}"


def _split(text: str, at: int) -> tuple[str, str]:
    return text[:at], text[at:]
