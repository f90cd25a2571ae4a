"""What `twinframe check` says of files in the directory of the graphs, whatever lies there."""

from __future__ import annotations

from pathlib import Path

import pytest

from twinframe.runtime.diagnosis.findings import Finding, Severity
from twinframe_storage_sqlite.findings import list_findings
from twinframe_storage_sqlite.settings import SqliteSettings


def find(folder: Path, name: str) -> list[Finding]:
    """What is said of the file of this name."""
    found = list_findings(SqliteSettings(directory=str(folder)))
    return [one for one in found if one.message.startswith(str(folder / name))]


@pytest.mark.parametrize("content", [b"what to buy\n" * 1000, b"SQLite format 3\0" + b"\0" * 90])
def test_a_file_whose_head_is_damaged_is_told_as_damaged(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "graph.db").write_bytes(content)
    (finding,) = find(tmp_path, "graph.db")
    assert finding.severity is Severity.ERROR
    assert "is damaged: file is not a database" in finding.message
    assert "twinframe restore" in finding.fix


def test_what_cannot_be_opened_is_not_passed_over_in_silence(tmp_path: Path) -> None:
    (tmp_path / "graph.db").mkdir()
    (finding,) = find(tmp_path, "graph.db")
    assert finding.severity is Severity.WARNING
    assert "was not looked through: unable to open" in finding.message


def test_a_link_that_leads_to_nothing_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "graph.db").symlink_to(tmp_path / "gone")
    assert find(tmp_path, "graph.db") == []
