"""New ids: of the form of random ones, and no two the same."""

from __future__ import annotations

import re
from itertools import islice

import pytest

from twinframe.model.etags import build_guid, iterate_guids

FORM = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def test_ids_have_the_form_of_random_ones_and_none_comes_twice() -> None:
    made = [build_guid() for _ in range(1000)]
    for _ in range(5):
        made += islice(iterate_guids(), 1000)
    assert all(map(FORM.fullmatch, made))
    assert len(set(made)) == len(made)


def test_ids_that_are_counted_do_not_grow_however_high_the_count_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("twinframe.model.etags.getrandbits", lambda bits: (1 << bits) - 1)
    assert all(map(FORM.fullmatch, islice(iterate_guids(), 1000)))
