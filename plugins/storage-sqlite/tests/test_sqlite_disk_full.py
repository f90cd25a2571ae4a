"""A disk that is really full: nothing acknowledged is lost, and ballast lets deletions go on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

MOUNT = 'mount -t tmpfs -o size=12m tmpfs "$0" && exec "$@"'

FILL = """
import json, sys
from pathlib import Path
from twinframe_storage_sqlite.settings import SqliteSettings
from twinframe_storage_sqlite.store import SqliteGraphStore

place = Path(sys.argv[1])
store = SqliteGraphStore(
    SqliteSettings(directory=str(place), ballast_bytes=1024 * 1024, checkpoint_pages=100), "graph"
)
store.open()
said = {"ballast": (place / "ballast").stat().st_size}

def put(number):
    key = f"{number:06}"
    (outcome,) = store.write([lambda transaction: transaction.put_entry("t", key, b"x" * 20_000)])
    return type(outcome.error).__name__

def delete(first, last):
    def work(transaction):
        return sum(transaction.delete_entry("t", f"{n:06}") for n in range(first, last))
    (outcome,) = store.write([work])
    return type(outcome.error).__name__

def count():
    session = store.session()
    try:
        return len(session.read_entries("t", after=None, limit=100_000))
    finally:
        session.close()

kept = 0
while (error := put(kept)) == "NoneType":
    kept += 1
said["full"] = error
said["kept"], said["read"] = kept, count()
said["again"] = put(kept)
# What others write leaves no byte: now not even a deletion has the room that it needs.
with open(place / "other", "wb", buffering=0) as other:
    try:
        while True:
            other.write(b"x" * 4096)
    except OSError:
        pass
said["delete_full"] = delete(0, kept // 2)
said["read_full"] = count()
(place / "ballast").unlink()
said["delete"] = delete(0, kept // 2)
said["left"] = count()
(place / "other").unlink()
said["write"] = put(kept)
said["faults"] = list(store.verify())
store.close()
print(json.dumps(said))
"""


def test_a_full_disk_loses_nothing_and_the_ballast_lets_deletions_go_on(tmp_path: Path) -> None:
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", MOUNT, str(tmp_path), sys.executable, "-c", FILL, tmp_path],
        capture_output=True,
        text=True,
        timeout=120,
    )
    if "permi" in done.stderr and not done.stdout:
        pytest.skip("a small file system needs the right to mount: run it as root")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["ballast"] == 1024 * 1024
    assert (said["full"], said["again"]) == ("StorageFull", "StorageFull")
    assert said["read"] == said["read_full"] == said["kept"] > 50
    assert said["delete_full"] == "StorageFull", "then the ballast would be of no use"
    assert said["delete"] == "NoneType"
    assert said["left"] == said["kept"] - said["kept"] // 2
    assert said["write"] == "NoneType", "it goes on by itself when there is room"
    assert said["faults"] == []
