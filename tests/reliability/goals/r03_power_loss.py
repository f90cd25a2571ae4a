"""R3: what is on the disk after power loss, at thousands of points of a recorded run."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from tests.e2e.server import Server
from tests.reliability.acknowledged import Writer, writing
from tests.reliability.judging import Figure, Goal, Trial, Twin, at_least, exactly
from tests.reliability.power import ACKNOWLEDGED, Image, Recorder, Step, build_images, read_steps
from tests.reliability.storage_writers import read_values
from tests.reliability.traffic import add_model
from twinframe.errors import TwinframeError
from twinframe_storage_sqlite.settings import SqliteSettings
from twinframe_storage_sqlite.store import SqliteGraphStore

RELAXED = "relaxed-durability"
UNSYNCED = "never-sync"
RAM = Path("/dev/shm")  # noqa: S108  (images are many, and only looked at)

Verdict = Literal["sound", "lost", "halved", "corrupt"]


def judge(trial: Trial) -> Sequence[Figure]:
    """Record writers of the storage, then the whole service; look at images of both."""
    storage = _judge_storage(trial)
    service = _judge_service(trial)
    return [
        exactly("storage images that lost", storage["lost"]),
        exactly("half applied", storage["halved"]),
        exactly("corrupt", storage["corrupt"]),
        at_least("storage images", sum(storage.values()), trial.pick(10_000, 150)),
        exactly("service images that lost", service["lost"]),
        exactly("half applied there", service["halved"]),
        exactly("corrupt there", service["corrupt"]),
        at_least("service images", sum(service.values()), trial.pick(4_000, 100)),
    ]


def _judge_storage(trial: Trial) -> Counter[Verdict]:
    watched = trial.folder / "storage"
    recorder = Recorder(trial.folder / "storage.log", watched)
    durability = "relaxed" if trial.fault == RELAXED else "full"
    subprocess.run(
        [
            sys.executable, "-m", "tests.reliability.storage_writers",
            str(watched), durability, "3", trial.pick("6", "2"),
        ],
        env=recorder.build_environment(),
        check=True,
    )  # fmt: skip
    recorder.close()
    return _look_at_all(read_steps(recorder.log), "graph", trial.pick(10_000, 150), trial.seed)


def _judge_service(trial: Trial) -> Counter[Verdict]:
    watched = trial.folder / "service"
    recorder = Recorder(trial.folder / "service.log", watched / "data")
    settings = {
        "Storage__Sqlite__CheckpointPages": "100",
        "Storage__Sqlite__Durability": "relaxed" if trial.fault == RELAXED else "full",
    }
    writers = [Writer(f"w{n}", tell=recorder.acknowledge) for n in range(6)]
    writers += [Writer(f"p{n}", pair=True, tell=recorder.acknowledge) for n in range(2)]
    environment = recorder.build_environment() | settings
    with Server(watched, workers=2, environment=environment) as server:
        add_model(server.port)
        with writing(server.port, writers):
            time.sleep(trial.pick(8.0, 2.0))
        server.kill()
    recorder.close()
    return _look_at_all(read_steps(recorder.log), "default", trial.pick(4_000, 100), trial.seed)


def _look_at_all(steps: list[Step], graph: str, count: int, seed: int) -> Counter[Verdict]:
    """What the images after the first acknowledged write show; each counts for its worst."""
    first = next(place for place, step in enumerate(steps) if step.operation == ACKNOWLEDGED)
    found: Counter[Verdict] = Counter()
    with tempfile.TemporaryDirectory(dir=RAM if RAM.is_dir() else None) as folder:
        for image in build_images(steps, first + 1, count, seed):
            image.write(Path(folder) / "image")
            # The machine was started anew, which its files tell by the id of the boot.
            (Path(folder) / "image" / f"{graph}.use.lock").unlink(missing_ok=True)
            found[_look(image, Path(folder) / "image", graph)] += 1
    return found


def _look(image: Image, folder: Path, graph: str) -> Verdict:
    store = SqliteGraphStore(SqliteSettings(directory=str(folder)), graph)
    try:
        store.open()
    except TwinframeError:
        return "corrupt"
    try:
        if store.verify():
            return "corrupt"
        values = read_values(store)
    except TwinframeError:
        return "corrupt"
    finally:
        store.close()
    if any(values.get(key, 0) < value for key, value in image.acknowledged.items()):
        return "lost"
    is_whole = all(values.get(key, 0) == values.get(_name_other(key), 0) for key in values)
    return "sound" if is_whole else "halved"


def _name_other(twin: str) -> str:
    """The twin that was written in the same work."""
    stem, _, end = twin.rpartition("-")
    other = {"left": "right", "right": "left", "a": "b", "b": "a"}.get(end)
    return f"{stem}-{other}" if other else twin


GOAL = Goal(
    id="R3",
    title="power loss",
    asked="≥ 10,000 images of the storage, ≥ 4,000 of the whole service: no acknowledged write "
    "lost, nothing corrupt or half applied",
    judge=judge,
    twins=(
        Twin(
            fault=RELAXED,
            seeds="Durability=relaxed",
            breaks=("storage images that lost", "service images that lost"),
        ),
        Twin(
            fault=UNSYNCED,
            seeds="nothing is ever synced",
            breaks=("corrupt", "corrupt there"),
        ),
    ),
    smoke=True,
)
