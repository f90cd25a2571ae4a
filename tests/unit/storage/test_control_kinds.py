"""What is said about kinds and keys that do not fit their declaration."""

from __future__ import annotations

import pytest

from twinframe.storage.control import Order, Record, RecordKind
from twinframe.storage.control_kinds import DeclaredKinds, check_value

KINDS = DeclaredKinds([RecordKind("project", ("organization", "name"))])


def test_an_unknown_kind_is_told_with_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"kind of record named 'projects'\. Did you mean project"):
        KINDS.find("projects")


def test_an_unknown_key_is_told_with_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"key of project named 'org_name'\..*name"):
        KINDS.check_key("project", "org_name")
    with pytest.raises(ValueError, match="organization, name"):
        KINDS.build_keys(Record("project", "a", b"{}", {"zzz": 1}))


def test_keys_that_are_not_given_are_none_and_come_as_declared() -> None:
    keys = KINDS.build_keys(Record("project", "a", b"{}", {"name": "n"}))
    assert list(keys.items()) == [("organization", None), ("name", "n")]


@pytest.mark.parametrize("value", [True, 1.5, b"a", ("a",)], ids=ascii)
def test_a_value_that_is_no_key_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="a text, an integer or None"):
        check_value("name", value)  # type: ignore[arg-type]  # what is refused


def test_a_page_is_within_64_bits() -> None:
    KINDS.check_page("project", Order(), 0, 2**63 - 1)
    with pytest.raises(ValueError, match="limit"):
        KINDS.check_page("project", Order(), 0, 2**63)


def test_every_kind_is_ordered_by_id_and_version() -> None:
    for key in ("id", "version"):
        KINDS.check_page("project", Order(key), 0, None)
