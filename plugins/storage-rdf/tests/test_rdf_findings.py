"""What `twinframe check` says of the place of triples."""

from __future__ import annotations

from pathlib import Path

from twinframe.runtime.diagnosis.findings import Severity
from twinframe_storage_rdf.building import list_findings
from twinframe_storage_rdf.settings import RdfSettings


def find(settings: RdfSettings) -> set[tuple[str, Severity]]:
    return {(one.check, one.severity) for one in list_findings(settings)}


def test_a_directory_of_its_own_is_looked_at(tmp_path: Path) -> None:
    assert ("directory", Severity.FINE) in find(RdfSettings(directory=str(tmp_path)))
    (tmp_path / "file").touch()
    wrong = RdfSettings(directory=str(tmp_path / "file"))
    assert find(wrong) == {("directory", Severity.ERROR)}


def test_graphs_in_memory_are_a_warning() -> None:
    for settings in (RdfSettings(engine="rdflib"), RdfSettings(directory="")):
        assert find(settings) == {("durability", Severity.WARNING)}


def test_a_server_that_does_not_answer_is_an_error() -> None:
    settings = RdfSettings(
        engine="sparql", query_url="http://127.0.0.1:9/query", authentication="basic",
        user="u", password="changeme",
    )  # fmt: skip
    assert find(settings) == {("reachability", Severity.ERROR), ("secrets", Severity.ERROR)}
