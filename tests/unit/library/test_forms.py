"""The two forms of the library have the same operations, and type checkers see what is exported."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

import twinframe
from twinframe.library.asynchronous import open_async

PAGES = {"iterate_pages", "change_pages"}  # what `iterate` and `changes` call when they wait
OF_ONE_FORM = {"close", "is_closed"}
FORMS = [
    (twinframe.LocalGraph, twinframe.AsyncLocalGraph),
    (twinframe.Transaction, twinframe.AsyncTransaction),
]


def list_names(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


@pytest.mark.parametrize("forms", FORMS)
def test_both_forms_have_the_same_operations_with_the_same_words(forms: tuple[type, type]) -> None:
    names = list_names(forms[1]) - PAGES
    assert list_names(forms[0]) - OF_ONE_FORM == names
    for name in names:
        waiting, awaiting = (getattr(form, name) for form in forms)
        assert inspect.getdoc(waiting) == inspect.getdoc(awaiting), name
        expected = inspect.signature(awaiting)
        given = str(expected.return_annotation).replace("Async", "")
        assert inspect.signature(waiting) == expected.replace(return_annotation=given), name


def test_both_forms_are_opened_alike() -> None:
    opening = (inspect.signature(one).parameters for one in (twinframe.open, open_async))
    assert next(opening) == next(opening)


def test_what_type_checkers_see_is_what_the_package_has() -> None:
    tree = ast.parse(Path(twinframe.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    declared = {
        alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("twinframe")
        for alias in node.names
    }
    assert declared == set(twinframe._LIBRARY)  # type: ignore[attr-defined]  # not for users
    assert declared < set(dir(twinframe))
    assert {getattr(twinframe, name).__name__ for name in declared} == declared
