"""Public names of the code use the words of `docs/glossary.md`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GLOSSARY = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
SOURCES = [
    (path, path.relative_to(folder))
    for folder in [ROOT / "src", *sorted((ROOT / "plugins").glob("*/src"))]
    for path in sorted(folder.rglob("*.py"))
]
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_ROW = re.compile(r"^\| (`[^|]+`) \| ", re.MULTILINE)


def _read_avoided() -> frozenset[str]:
    """The words in the left column of the table of words that are not used."""
    _, _, section = GLOSSARY.partition("## Words that names do not use")
    return frozenset(word for row in _ROW.findall(section) for word in re.findall(r"`(\w+)`", row))


def _read_kept() -> frozenset[str]:
    """The public names that keep such a word, because it stands on the wire or in settings."""
    _, _, section = GLOSSARY.partition("These names keep such a word")
    return frozenset(re.findall(r"`(\w+)`", section.split("\n\n")[0]))


def _names_of(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        yield node.name
    elif isinstance(node, ast.Assign):
        yield from (one.id for one in node.targets if isinstance(one, ast.Name))
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        yield node.target.id


def _list_public_names() -> Iterator[tuple[str, str]]:
    """Modules, and what they and their public classes define, each with where it stands."""
    for path, inside in SOURCES:
        yield str(inside), path.stem
        todo: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
        while todo:
            for child in ast.iter_child_nodes(todo.pop()):
                for name in _names_of(child):
                    if not name.startswith("_"):
                        yield f"{inside}:{getattr(child, 'lineno', 0)}", name
                        todo += [child] if isinstance(child, ast.ClassDef) else []


def test_the_glossary_lists_words_that_names_do_not_use() -> None:
    assert {"errand", "happening", "place", "work"} <= _read_avoided()


def test_no_public_name_has_a_word_that_the_glossary_replaces() -> None:
    avoided, kept = _read_avoided(), _read_kept()
    found = [
        f"{where} {name}"
        for where, name in _list_public_names()
        if name not in kept
        and not name.startswith("test_")  # a sentence of a published contract
        and avoided & {word.lower().removesuffix("s") for word in _WORD.findall(name)}
    ]
    assert found == []


def test_names_that_keep_such_a_word_are_there() -> None:
    names = {name for _, name in _list_public_names()}
    assert sorted(_read_kept() - names) == []
