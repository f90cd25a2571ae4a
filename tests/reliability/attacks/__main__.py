"""Runs one attack; what was answered goes to the standard output, as JSON."""

from __future__ import annotations

import json
import os
import sys
import time

from tests.reliability.attacks import list_attacks
from tests.reliability.attacks.attack import Target


def main() -> None:
    """`NAME PORT SECONDS STORAGE`."""
    name, port, seconds, storage = sys.argv[1:]
    (attack,) = [attack for attack in list_attacks() if attack.name == name]
    # The attackers have other machines in life: here they must not take the service's processors.
    os.nice(15)
    target = Target(int(port), time.monotonic() + float(seconds), storage)
    attack.run(target)
    print(json.dumps({"answers": target.answers, "wrong": target.wrong}), flush=True)
    os._exit(0)  # clients that still wait for an answer do not hold up the judge


if __name__ == "__main__":
    main()
