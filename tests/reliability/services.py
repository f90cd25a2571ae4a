"""Several nodes of the service over one PostgreSQL server, each of which may be killed. They judge
nothing.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.server import Server
from tests.reliability.judging import SEEDED
from tests.reliability.nodes import Node, make_nodes
from tests.reliability.traffic import list_workers


def build_release_environment(settings: Mapping[str, str]) -> Mapping[str, str]:
    """The settings of a node, with what makes it find the seeds of a later release."""
    if "TWINFRAME_SEEDED_RELEASE" not in settings:
        return settings
    path = os.pathsep.join(filter(None, (str(SEEDED), os.environ.get("PYTHONPATH", ""))))
    return {**settings, "PYTHONPATH": path}


class Services:
    """Nodes of one service, begun one by one; `ports` are those of all that were not retired.

    `database` is the server of all.
    """

    def __init__(self, folder: Path, database: Node, settings: Mapping[str, str]) -> None:
        self.database = database
        self.nodes: list[Server] = []
        self.ports: list[int] = []
        self.kills = 0
        self._begun: list[Server] = []
        self._folder = folder
        self._settings = settings

    def add(self, **settings: str) -> Server:
        """Begin a node of two workers, with settings beyond those of all, and wait for it."""
        folder = self._folder / f"node{len(self._begun)}"
        folder.mkdir()
        environment = {
            "Storage__Provider": "postgres",
            "Storage__Postgres__Url": f"postgresql://twinframe@127.0.0.1:{self.database.port}/postgres",
            "Storage__Postgres__Directory": str(folder / "postgres"),
            # Nothing of it fails here; on a busy machine it may be slow.
            "Storage__Postgres__ConnectTimeout": "120",
            "Logging__Access": "false",
            **self._settings,
            **build_release_environment(settings),
        }
        node = Server(folder, workers=2, environment=environment)
        self._begun.append(node)
        self.nodes.append(node)
        node.start()
        self.ports.append(node.port)
        return node

    def kill_one(self, dice: random.Random) -> Server:
        """Kill all processes of a node at once."""
        node = dice.choice([each for each in self.nodes if each.process is not None])
        node.kill()
        self.kills += 1
        return node

    def kill_in_turn(self, dice: random.Random, is_enough: Callable[[int], bool]) -> None:
        """Kill a node, or each third time one of its workers, again and again.

        A killed node begins again at once, and is whole before the next is killed.
        """
        while not is_enough(self.kills):
            time.sleep(dice.uniform(0.3, 1.0))
            if self.kills % 3 == 2:
                workers = list_workers(dice.choice(self.nodes))
                if len(workers) == 2:
                    os.kill(dice.choice(workers), signal.SIGKILL)
                    self.kills += 1
            else:
                self.kill_one(dice).start()

    def read_logs(self) -> str:
        """What all nodes have logged."""
        return "".join(node.log.read_text(encoding="utf-8") for node in self._begun)

    def retire(self, node: Server) -> None:
        """Send no more to a node, as a load balancer does, and end it the polite way."""
        self.ports.remove(node.port)
        node.stop()
        self.nodes.remove(node)


@contextmanager
def serving(folder: Path, count: int, **settings: str) -> Iterator[Services]:
    """A PostgreSQL server with so many nodes, all of which end with the block."""
    with make_nodes(1) as (database,):
        database.make()
        database.start()
        services = Services(folder, database, settings)
        try:
            for _ in range(count):
                services.add()
            yield services
        finally:
            for node in services.nodes:
                node.kill()
