"""Hosted graphs kept as triples: served, held to their quotas, backed up, restored and removed.

`TWINFRAME_STORAGES=oxigraph` runs all tests of hosted graphs so; these are what differs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.hosted import Provisioner, build_environment, build_hosted
from tests.e2e.server import Server
from tests.e2e.test_hosted_graphs import MODEL, Caller, export, fill, run_command
from tests.storages import SERVED, require
from twinframe.control.hosting.service import check_hosting
from twinframe.errors import SettingsError
from twinframe.hooks.installation import load_installation
from twinframe.hooks.resource_types.prices import Sku
from twinframe.hooks.resource_types.quotas import Quota, QuotaLimit


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require("oxigraph")
    return tmp_path_factory.mktemp("triples")


@pytest.fixture(scope="module")
def provisioner(folder: Path) -> Provisioner:
    return Provisioner(build_environment(folder, **SERVED["oxigraph"](folder)))


@pytest.fixture(scope="module")
def server(folder: Path, provisioner: Provisioner) -> Iterator[Server]:
    running = Server(folder, workers=2, environment=provisioner.environment)
    with running:
        yield running
    log = running.log.read_text(encoding="utf-8")
    assert "Traceback" not in log, log[-4000:]


def find_places(folder: Path, name: str) -> list[Path]:
    """The directories of the stores of a graph."""
    return [path for path in (folder / "rdf").iterdir() if name in path.name]


def test_a_graph_of_triples_is_backed_up_restored_and_removed_while_others_are_served(
    server: Server, provisioner: Provisioner, folder: Path
) -> None:
    graphs = {name: build_hosted(name, backup_retention_days=3) for name in ("kept", "other")}
    calls = {name: Caller(server.port, f"/graphs/{name}") for name in graphs}
    for name, graph in graphs.items():
        provisioner.bring_up(graph)
        fill(calls[name], name)
    before = export(calls["kept"])
    made = run_command(provisioner, "backup", "kept")
    assert made.returncode == 0, made.stderr
    backup = Path(made.stdout.split()[-1].rstrip("."))
    twin = {"$metadata": {"$model": MODEL}, "part": {"$metadata": {}}}
    assert calls["kept"]("PUT", "/digitaltwins/z", twin).status == 200
    done = run_command(provisioner, "restore", "kept", str(backup))
    assert done.returncode == 0, done.stderr
    for _ in range(4):  # whichever worker it is
        assert export(calls["kept"]) == before

    foreign = run_command(provisioner, "restore", "other", str(backup))
    assert foreign.returncode == 1
    assert "no backup of this graph" in foreign.stderr
    assert export(calls["other"])[0][0]["of"] == "other"

    assert find_places(folder, "kept")
    provisioner.take_down(graphs["kept"])
    assert calls["kept"]("GET", "/digitaltwins/a").status == 404
    assert find_places(folder, "kept") == []
    assert calls["other"]("GET", "/digitaltwins/a").status == 200


def test_twins_and_bytes_of_a_graph_of_triples_are_held_to_its_quotas(
    server: Server, provisioner: Provisioner
) -> None:
    limits = (
        QuotaLimit(Sku.FREE, Quota.TWINS, 6),
        QuotaLimit(Sku.FREE, Quota.STORAGE_BYTES, 20_000),
    )
    graph = build_hosted("small", limits=limits, sku=Sku.FREE)
    provisioner.bring_up(graph)
    call = Caller(server.port, "/graphs/small")
    fill(call, "small")
    thing = {"$metadata": {"$model": MODEL}, "part": {"$metadata": {}}}
    assert call("PUT", "/digitaltwins/large", {**thing, "of": "x" * 20_000}).status == 403
    statuses = [call("PUT", f"/digitaltwins/t{n}", thing).status for n in range(5)]
    assert statuses == [200, 200, 200, 403, 403]
    assert call("DELETE", "/digitaltwins/t0").status == 204
    assert call("PUT", "/digitaltwins/t9", thing).status == 200
    usage = asyncio.run(provisioner.host.sample(graph.name))
    assert usage is not None
    assert usage.twins == 6
    assert usage.storage_bytes > 0


def test_triples_in_the_memory_of_one_process_are_not_hosted(tmp_path: Path) -> None:
    require("oxigraph")
    for more in ({"Directory": ""}, {"InProcess": "true"}, {"Engine": "rdflib"}):
        environment = build_environment(tmp_path, Storage__Provider="rdf")
        environment |= {f"Storage__Rdf__{name}": value for name, value in more.items()}
        with pytest.raises(SettingsError, match="rdf with a directory and a store process"):
            check_hosting(load_installation(environ=environment))
