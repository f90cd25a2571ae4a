"""Releases after this one, for judges of upgrades: what they migrate.

`TWINFRAME_SEEDED_RELEASE` is how many there are. A patch that no longer finds its place fails
loudly.
"""

from __future__ import annotations

from typing import Any

_LATER = (
    (0, "ALTER TABLE twin ADD COLUMN note text NOT NULL DEFAULT 'none'"),
    (0, "CREATE INDEX CONCURRENTLY twin_note ON @twin (note);\n"),
    (2, "ALTER TABLE twin DROP COLUMN note"),
)
"""How many of these a release must know to go on with the tables; the statements."""

_BREAKING = ((0, f"{_LATER[0][1]}; ALTER TABLE twin ALTER COLUMN note DROP DEFAULT"),)
"""What no release should migrate: nodes of the former release put no note."""


def migrate_further(module: Any, release: str) -> None:
    """Let the process be of a later release."""
    present = module.load_migrations()
    newest = present[-1].version
    later = _BREAKING if release == "breaking" else _LATER[: int(release)]
    more = [
        module.Migration(newest + number, newest + least, sql)
        for number, (least, sql) in enumerate(later, start=1)
    ]
    found = (*present, *more)
    module.load_migrations = lambda: found
