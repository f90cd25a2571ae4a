"""The client of the SHACL validation process, which ends with its client.

NOTE: a separate process, because pyshacl changes rdflib for the whole process, keeps the
interpreter busy while it runs, and must be able to be killed.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import resource
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, Final, cast

import orjson

from twinframe.errors import StorageBusy, Unsupported
from twinframe_storage_rdf.terms import Iri, Term, parse_literal

_LONGEST_BATCH: Final = 120.0
_MEMORY: Final = 2 * 1024**3
_NICENESS: Final = 5
_PIECE: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Violation:
    """A violation of a shape by a twin: `path` is a predicate, `value` None where it is missing."""

    focus: Iri
    path: Iri | None
    value: Term
    message: str
    component: Iri
    shape: Iri


class Judge:
    """A running process that has loaded the shapes."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._input = cast("IO[bytes]", process.stdin)
        self._output = cast("IO[bytes]", process.stdout)

    def judge(self, triples: str, targets: Mapping[str, Sequence[str]]) -> list[Violation]:
        """Return the violations in triples (N-Triples) by the nodes that each shape is for.

        Raises `StorageBusy` when the process cannot answer.
        """
        self.send({"triples": triples, "targets": targets})
        return [_build_violation(found) for found in orjson.loads(self._read_line())]

    def send(self, document: object) -> None:
        """Send one line."""
        try:
            self._input.write(orjson.dumps(document) + b"\n")
            self._input.flush()
        except OSError as error:
            raise StorageBusy("The process that validates by SHACL ended.") from error

    def _read_line(self) -> bytes:
        parts: list[bytes] = []
        end = time.monotonic() + _LONGEST_BATCH
        while not (parts and parts[-1].endswith(b"\n")):
            ready, _, _ = select.select([self._output], [], [], max(0.0, end - time.monotonic()))
            piece = os.read(self._output.fileno(), _PIECE) if ready else b""
            if not piece:
                raise StorageBusy("The process that validates by SHACL does not answer.")
            parts.append(piece)
        return b"".join(parts)


@contextlib.contextmanager
def start_judge(shapes: str) -> Iterator[Judge]:
    """Start a process with these shapes, which are N-Triples.

    Raises `Unsupported` without pyshacl.
    """
    check_installed()
    process = subprocess.Popen(
        [sys.executable, "-m", "twinframe_storage_rdf.shacl"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        with contextlib.suppress(OSError, ValueError):  # it ended, or its limit is lower already
            resource.prlimit(process.pid, resource.RLIMIT_AS, (_MEMORY, _MEMORY))
            os.setpriority(os.PRIO_PROCESS, process.pid, _NICENESS)
        judge = Judge(process)
        judge.send(shapes)
        yield judge
    finally:
        process.kill()
        with contextlib.suppress(OSError):  # output that it did not read
            process.communicate()


def check_installed() -> None:
    """Raise `Unsupported` without pyshacl."""
    if importlib.util.find_spec("pyshacl") is None:
        raise Unsupported(
            "A validation report needs the package pyshacl: "
            "pip install 'twinframe-storage-rdf[shacl]'."
        )


def _build_violation(found: dict[str, dict[str, Any]]) -> Violation:
    terms = {name: _build_term(term) for name, term in found.items()}
    path = terms.get("path")
    return Violation(
        cast("Iri", terms["focus"]),
        path if isinstance(path, Iri) else None,
        terms.get("value"),
        str(terms.get("message", "")),
        cast("Iri", terms["component"]),
        cast("Iri", terms["shape"]),
    )


def _build_term(found: dict[str, Any]) -> Term:
    if "iri" in found:
        return Iri(found["iri"])
    return parse_literal(found["text"], found["datatype"]) if found else None
