"""A Dockerfile as its instructions. It reads what ours are made of, and builds nothing."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction; `stage` counts the images from 0."""

    name: str
    text: str
    stage: int

    @property
    def words(self) -> list[str]:
        """Its words, those of the exec form too, options (`--from=x`) left out."""
        if self.text.startswith("["):
            return [str(word) for word in json.loads(self.text)]
        return [word for word in shlex.split(self.text) if not word.startswith("--")]

    @property
    def options(self) -> dict[str, str]:
        """Its options before its words."""
        return dict(re.findall(r"--([a-z-]+)=(\S+)", self.text.partition(" CMD ")[0]))


def parse_dockerfile(path: Path) -> list[Instruction]:
    """All instructions; a word that is none is a `ValueError`."""
    known = {
        "FROM", "RUN", "CMD", "EXPOSE", "ENV", "COPY", "ENTRYPOINT", "VOLUME", "USER", "WORKDIR",
        "HEALTHCHECK", "STOPSIGNAL",
    }  # fmt: skip
    text = re.sub(r"\\\n", " ", path.read_text(encoding="utf-8"))
    found: list[Instruction] = []
    stage = -1
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        name, _, rest = line.partition(" ")
        if name not in known:
            raise ValueError(f"{name} is no instruction")
        stage += name == "FROM"
        found.append(Instruction(name, rest.strip(), stage))
    return found
