"""The files under `deploy/` are what their tools take, and say what the service knows.

No image is built and no cluster asked. `TWINFRAME_DEPLOY=1` runs the commands of the image too,
which installs everything anew.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from tests.deploy.dockerfile import Instruction, parse_dockerfile
from tests.e2e.server import Server
from tests.waiting import PATIENCE, run_program
from twinframe import __version__
from twinframe.hooks.installation import load_installation
from twinframe.settings.load import CONFIG_VARIABLE

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
BASES = ["node:24-slim", "python:3.11-slim", "python:3.11-slim"]
PAGE, BUILD, LAST = range(3)
IMAGE = f"twinframe:{__version__}"
DATABASE = "postgres:18"
UNIT = DEPLOY / "systemd" / "twinframe.service"
KUBERNETES = "1.32"

KEPT = (
    "Storage__Sqlite__Directory",
    "Storage__Rdf__Directory",
    "Hosting__Directory",
    "Authentication__ApiKeys__File",
)
"""What is kept in files, unless it is switched off: below the directory of data."""

INSTRUCTIONS = parse_dockerfile(DEPLOY / "Dockerfile")
FINAL = [one for one in INSTRUCTIONS if one.stage == LAST]


def find(name: str, instructions: list[Instruction] = FINAL) -> list[Instruction]:
    return [one for one in instructions if one.name == name]


def read_environment() -> dict[str, str]:
    pairs = (word.partition("=") for one in find("ENV") for word in one.words)
    return {name: value for name, _, value in pairs}


def check_settings(environment: dict[str, str]) -> None:
    """Every variable that names a setting is one; raises with all that are not."""
    load_installation(None, {key: value for key, value in environment.items() if "__" in key})


def load_documents(path: Path) -> list[dict[str, Any]]:
    return [one for one in yaml.safe_load_all(path.read_text(encoding="utf-8")) if one]


# --- the image ------------------------------------------------------------------------------------


def test_the_image_is_made_in_three_stages_and_has_nothing_of_the_first_two_but_the_result() -> (
    None
):
    assert [one.words[0] for one in find("FROM", INSTRUCTIONS)] == BASES
    assert [one.options["from"] for one in find("COPY")] == ["build"]


def test_what_is_copied_is_there_and_not_ignored() -> None:
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    for one in find("COPY", INSTRUCTIONS):
        if "from" in one.options:
            continue
        for source in one.words[:-1]:
            assert (ROOT / source).exists(), source
            assert f"!{source.partition('/')[0]}" in ignored, source


def test_all_distributions_of_the_project_are_installed() -> None:
    (installing,) = [one for one in find("RUN", INSTRUCTIONS) if "pip install" in one.text]
    named = {Path(word).name for word in installing.words if word.startswith("./")}
    assert named == {path.parent.name for path in (ROOT / "plugins").glob("*/pyproject.toml")}
    (extras,) = re.findall(r"\.\[([\w,]+)\]", installing.text)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(extras.split(",")) <= set(project["optional-dependencies"])


def test_the_image_runs_as_nobody_of_consequence() -> None:
    (user,) = find("USER")
    (made,) = [one for one in find("RUN") if one.text.startswith("useradd")]
    number = user.words[0].partition(":")[0]
    assert int(number) >= 10_000
    assert f"--uid {number} " in made.text
    assert FINAL.index(user) > max(FINAL.index(one) for one in find("RUN"))


def test_the_image_has_settings_that_the_service_knows() -> None:
    check_settings(read_environment())
    installation = load_installation(None, read_environment())
    ports = {one for line in find("EXPOSE") for one in line.words}
    assert installation.settings.server.bind.rpartition(":")[2] in ports
    assert installation.settings.metrics.bind.rpartition(":")[2] in ports


def test_the_data_of_the_image_lies_in_its_volume() -> None:
    (volume,) = find("VOLUME")
    environment = read_environment()
    for key in KEPT:
        assert environment[key].startswith(f"{volume.words[0]}/")


def test_the_image_starts_the_service_and_refuses_to_be_open_to_all() -> None:
    command = [*find("ENTRYPOINT")[0].words, *find("CMD")[0].words]
    assert command == ["twinframe", "serve"]
    environment = {key: value for key, value in read_environment().items() if "Server" in key}
    done = subprocess.run(
        [sys.executable, "-m", *command],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert "Authentication__Enabled=true" in done.stderr


def test_the_health_check_tells_a_service_that_answers_from_one_that_does_not(
    tmp_path: Path,
) -> None:
    (health,) = find("HEALTHCHECK")
    command = Instruction("CMD", health.text.partition(" CMD ")[2], 1).words
    assert command[0] == "python"
    with Server(tmp_path) as server:
        code = command[-1].replace("127.0.0.1:8080", f"127.0.0.1:{server.port}")
        assert code != command[-1]
        assert run_program([sys.executable, "-c", code]).returncode == 0
    failed = run_program([sys.executable, "-c", code], capture_output=True)
    assert failed.returncode != 0


def play_stage(stage: int, folder: Path, place: Path) -> None:
    """Run a stage that builds, its root in `folder / stage`; `place` is its /opt/twinframe."""
    root = folder / str(stage)
    here = root
    ignored = shutil.ignore_patterns("tests", "*.egg-info", "node_modules", "assets")
    for one in (one for one in INSTRUCTIONS if one.stage == stage):
        if one.name == "WORKDIR":
            here = root / one.words[0].lstrip("/")
            here.mkdir(parents=True)
        elif one.name == "COPY":
            *names, target = one.words
            inside = one.options.get("from")
            for name in names:
                path = folder / str(PAGE) / name.lstrip("/") if inside == "page" else ROOT / name
                if path.is_dir():
                    ignore = None if inside == "page" else ignored
                    shutil.copytree(path, here / target, ignore=ignore, dirs_exist_ok=True)
                else:
                    shutil.copy(path, here / target)
        elif one.name == "RUN":
            command = one.text.replace("/opt/twinframe", str(place))
            run_program(shlex.split(command), cwd=here, check=True)


@pytest.mark.skipif(
    "TWINFRAME_DEPLOY" not in os.environ, reason="it installs everything: make test-deploy"
)
@pytest.mark.timeout(1200)
def test_the_commands_of_the_image_make_an_installation_that_works(tmp_path: Path) -> None:
    place = tmp_path / "venv"
    play_stage(PAGE, tmp_path, place)
    play_stage(BUILD, tmp_path, place)
    environment = {
        "PATH": f"{place}/bin:/usr/bin:/bin",
        "HOME": str(tmp_path),
        "Storage__Sqlite__Directory": str(tmp_path / "data"),
        "Traces__Enabled": "true",
        "Metrics__Enabled": "true",
    }
    done = run_program(
        ["twinframe", "check", "--offline"], env=environment, cwd=tmp_path, capture_output=True
    )
    assert done.returncode == 0, done.stderr
    (page,) = place.glob("lib/python3*/site-packages/twinframe_explorer/assets/index.html")
    assert "<script" in page.read_text(encoding="utf-8")


# --- compose --------------------------------------------------------------------------------------


def test_the_compose_file_has_one_hardened_service_with_known_settings() -> None:
    (document,) = load_documents(DEPLOY / "compose" / "compose.yaml")
    service = document["services"]["twinframe"]
    folder = DEPLOY / "compose"
    assert (folder / service["build"]["context"]).resolve() == ROOT
    assert (ROOT / service["build"]["dockerfile"]).is_file()
    assert service["image"] == IMAGE
    environment = {**read_environment(), **service["environment"]}
    check_settings(environment)
    installation = load_installation(None, environment)
    for port in service["ports"]:
        assert port.startswith("127.0.0.1:"), "nobody is asked who calls: only this machine"
    inside = {port.rpartition(":")[2] for port in service["ports"]}
    settings = installation.settings
    assert inside == {
        bind.rpartition(":")[2] for bind in (settings.server.bind, settings.metrics.bind)
    }
    assert service["volumes"] == [f"data:{find('VOLUME')[0].words[0]}"]
    assert "data" in document["volumes"]
    assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
    grace = int(service["stop_grace_period"].removesuffix("s"))
    assert grace >= settings.server.drain_delay + settings.server.graceful_timeout + 5


# --- systemd --------------------------------------------------------------------------------------


def read_unit() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in UNIT.read_text(encoding="utf-8").splitlines():
        name, sign, value = line.partition("=")
        if sign and not line.startswith("#"):
            found.setdefault(name, []).append(value)
    return found


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="it needs systemd-analyze")
def test_systemd_takes_the_unit_and_finds_it_closed() -> None:
    done = subprocess.run(
        ["systemd-analyze", "verify", str(UNIT)], capture_output=True, text=True, timeout=60
    )
    missing = "is not executable: No such file or directory"  # the program is not installed here
    assert [line for line in done.stderr.splitlines() if missing not in line] == []
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=20", str(UNIT)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout[-500:]


def test_the_unit_has_known_settings_and_time_to_end() -> None:
    unit = read_unit()
    environment = dict(one.split("=", 1) for one in unit["Environment"])
    assert CONFIG_VARIABLE in environment
    check_settings(environment)
    (state,) = unit["StateDirectory"]
    for key in KEPT:
        assert environment[key].startswith(f"/var/lib/{state}/")
    # It hides the boot's id, by which the leases of dead workers are told from those of living.
    assert "ProcSubset" not in unit
    settings = load_installation(None, {}).settings
    needed = settings.server.drain_delay + settings.server.graceful_timeout + 5
    assert int(unit["TimeoutStopSec"][0]) > needed
    assert int(unit["LimitNOFILE"][0]) >= settings.server.max_connections
    for key in ("ExecStart", "ExecStartPre"):
        arguments = shlex.split(unit[key][0])[1:]
        done = run_program(
            [sys.executable, "-m", "twinframe", *arguments, "--help"], capture_output=True
        )
        assert done.returncode == 0


def test_a_service_of_type_notify_says_when_it_is_there(tmp_path: Path) -> None:
    assert read_unit()["Type"] == ["notify"]
    address = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(address))
        manager.settimeout(PATIENCE)
        with Server(tmp_path, environment={"NOTIFY_SOCKET": str(address)}):
            assert b"READY=1" in manager.recv(4096).splitlines()


# --- Kubernetes -----------------------------------------------------------------------------------


def list_manifests() -> Iterator[dict[str, Any]]:
    (kustomization,) = load_documents(DEPLOY / "kubernetes" / "kustomization.yaml")
    named = set(kustomization["resources"]) | {"kustomization.yaml"}
    assert named == {path.name for path in (DEPLOY / "kubernetes").glob("*.yaml")}
    for name in kustomization["resources"]:
        yield from load_documents(DEPLOY / "kubernetes" / name)


MANIFESTS = {(one["kind"], one["metadata"]["name"]): one for one in list_manifests()}
POD = MANIFESTS["StatefulSet", "twinframe"]["spec"]["template"]["spec"]
CONTAINER = POD["containers"][0]


@pytest.mark.parametrize("key", MANIFESTS, ids="/".join)
def test_a_manifest_is_what_the_api_server_takes(key: tuple[str, str]) -> None:
    kubernetes_validate.validate(MANIFESTS[key], KUBERNETES, strict=True)


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="it needs kubectl")
def test_the_manifests_are_put_together() -> None:
    done = subprocess.run(
        ["kubectl", "kustomize", str(DEPLOY / "kubernetes")], capture_output=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    built = [one for one in yaml.safe_load_all(done.stdout) if one["kind"] != "Namespace"]
    assert len(built) == len(MANIFESTS) - 1
    assert {one["metadata"]["namespace"] for one in built} == {"twinframe"}


def test_the_pod_has_known_settings_and_time_to_end() -> None:
    environment = {**read_environment(), **MANIFESTS["ConfigMap", "twinframe"]["data"]}
    check_settings(environment)
    settings = load_installation(None, environment).settings
    server = settings.server
    assert POD["terminationGracePeriodSeconds"] > server.drain_delay + server.graceful_timeout + 5
    assert server.drain_delay > 0
    ready = CONTAINER["readinessProbe"]
    assert ready["periodSeconds"] * ready["failureThreshold"] < server.drain_delay
    ports = {one["name"]: one["containerPort"] for one in CONTAINER["ports"]}
    assert ports == {
        "http": int(server.bind.rpartition(":")[2]),
        "metrics": int(settings.metrics.bind.rpartition(":")[2]),
    }
    assert settings.authentication.asks


def test_probes_ask_what_the_service_answers(tmp_path: Path) -> None:
    paths = {
        CONTAINER[f"{kind}Probe"]["httpGet"]["path"]
        for kind in ("startup", "liveness", "readiness")
    }
    assert paths == {"/health/live", "/health/ready"}
    assert CONTAINER["livenessProbe"]["httpGet"]["path"] == "/health/live"
    assert CONTAINER["image"] == IMAGE


def test_services_and_policies_meet_the_pod() -> None:
    labels = MANIFESTS["StatefulSet", "twinframe"]["spec"]["template"]["metadata"]["labels"]
    names = {one["name"] for one in CONTAINER["ports"]}
    for (kind, _), one in MANIFESTS.items():
        if kind == "Service":
            assert one["spec"]["selector"].items() <= labels.items()
            assert {port["targetPort"] for port in one["spec"]["ports"]} <= names
    policy = MANIFESTS["NetworkPolicy", "twinframe"]["spec"]
    assert policy["podSelector"]["matchLabels"].items() <= labels.items()
    open_to_all = {
        port["port"] for rule in policy["ingress"] if "from" not in rule for port in rule["ports"]
    }
    assert open_to_all == {"http"}
    mounts = {one["name"]: one["mountPath"] for one in CONTAINER["volumeMounts"]}
    assert mounts["data"] == find("VOLUME")[0].words[0]
    assert POD["securityContext"]["runAsUser"] == int(find("USER")[0].words[0].partition(":")[0])


# --- all of them ----------------------------------------------------------------------------------


def test_no_image_comes_from_a_registry_by_name() -> None:
    for path in sorted(DEPLOY.rglob("*")):
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            images = re.findall(r"(?:^FROM |^ *image: )([^\s\"]+)", text, re.MULTILINE)
            assert set(images) <= {*BASES, IMAGE, DATABASE}, path
