"""Scripts that are killed while they write: nothing halved, and nothing acknowledged is lost."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest

import twinframe
from tests.forks import CODE
from tests.unit.library.worlds import LAMP, MODELS, ROOM, lamp, room
from tests.waiting import PATIENCE

KILLS = 3
ACKNOWLEDGED = 3
LAMPS = 20

WRITER = f"""
import sys, twinframe
path, kind, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
ROOM, LAMP = {{"$metadata": {{"$model": "{ROOM}"}}}}, {{"$metadata": {{"$model": "{LAMP}"}}}}

def write(graph, n):
    graph.put_twin(f"r{{n}}", {{**ROOM, "seats": n}})
    for k in range({LAMPS}):
        graph.put_twin(f"l{{n}}-{{k}}", {{**LAMP, "level": n, "driver": {{}}}})
        ends = {{"$relationshipName": "has", "$targetId": f"l{{n}}-{{k}}"}}
        graph.put_relationship(f"r{{n}}", f"h{{k}}", ends)
    graph.patch_twin("last", [{{"op": "replace", "path": "/seats", "value": n}}])

STATEMENT = '''
MATCH (last:Room {{`$dtId`: 'last'}}) SET last.seats = $n
CREATE (r:Room {{`$dtId`: 'r' + toString($n), seats: $n}})
WITH r UNWIND range(0, {LAMPS - 1}) AS k
CREATE (r)-[:has {{`$relationshipId`: 'h' + toString(k)}}]->
       (:Lamp {{`$dtId`: 'l' + toString($n) + '-' + toString(k), level: $n,
                driver: {{firmware: '1'}}}})
'''

with twinframe.open(path) as graph:
    if kind == "open":
        with graph.transaction(seconds={PATIENCE}) as tx:
            write(tx, n)
            print("written, and not kept", flush=True)
            sys.stdin.read()
    while True:
        if kind == "statement":
            graph.execute(STATEMENT, {{"n": n}})
        else:
            with graph.transaction(seconds={PATIENCE}) as tx:
                write(tx, n)
        print(n, flush=True)
        n += 1
"""


def run_and_kill(path: Path, kind: str, first: int, read: Callable[[IO[str]], int]) -> int:
    """Kill a writer that begins with `first` once `read` returns; what `read` returned."""
    command = [*CODE, WRITER, str(path), kind, str(first)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        try:
            found = read(writer.stdout)
            found = max([found, *map(int, _kill(writer))])
        finally:
            writer.kill()
    assert writer.returncode == -signal.SIGKILL
    return found


def _kill(writer: subprocess.Popen[str]) -> list[str]:
    """Kill it; the numbers that it had acknowledged and nobody had read."""
    writer.kill()
    assert writer.stdout is not None
    return [line for line in writer.stdout if line.endswith("\n")]


def read_some(out: IO[str]) -> int:
    """Read the first acknowledged numbers; the last of them."""
    return [int(out.readline()) for _ in range(ACKNOWLEDGED)][-1]


def check_whole(graph: twinframe.LocalGraph) -> int:
    """Check that each room has all that is written with it; the number of rooms."""
    last = graph.read_twin("last")["seats"]
    found = graph.query(
        "MATCH (r:Room) WHERE r.`$dtId` <> 'last' OPTIONAL MATCH (r)-[:has]->(l:Lamp) "
        "WHERE l.level = r.seats RETURN r.seats AS seats, count(l) AS lamps ORDER BY seats"
    )
    assert list(found) == [{"seats": n, "lamps": LAMPS} for n in range(1, last + 1)]
    assert len(graph.list_twins(LAMP)) == last * LAMPS
    return int(last)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A graph of one twin, which holds the last number."""
    with twinframe.open(tmp_path / "graph.db") as graph:
        graph.create_models(MODELS)
        graph.put_twin("last", room(seats=0))
    return tmp_path / "graph.db"


@pytest.mark.parametrize("kind", ["transaction", "statement"])
def test_what_a_killed_writer_acknowledged_is_there_and_nothing_is_halved(
    path: Path, kind: str
) -> None:
    last = 0
    for _ in range(KILLS):
        acknowledged = run_and_kill(path, kind, last + 1, read_some)
        with twinframe.open(path) as graph:
            last = check_whole(graph)
            assert last in (acknowledged, acknowledged + 1)
            changes = [*graph.changes(1, include=["twins"])]
            assert len(changes) == last * (LAMPS + 1) + 1


def test_a_transaction_of_a_killed_script_is_gone_and_holds_nobody_up(path: Path) -> None:
    with twinframe.open(path) as graph:

        def read(out: IO[str]) -> int:
            assert out.readline() == "written, and not kept\n"
            assert check_whole(graph) == 0
            return 0

        run_and_kill(path, "open", 1, read)
        assert check_whole(graph) == 0
        graph.put_twin("l", lamp(level=1))  # it would wait for its turn for as long as `seconds`
        graph.delete_twin("l")
        assert check_whole(graph) == 0
