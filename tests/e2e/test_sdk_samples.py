"""The samples of the vendor's SDK, each in a process of its own, not a byte of them changed.

What differs is what a user sets: the address, the authority of its certificate, and where tokens
come from (`sdk_stand_in`). They come with the source distribution; `make test-samples` gets it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from azure.digitaltwins.core import DigitalTwinsEventRoute

from tests.e2e.clients import SyncClient
from tests.e2e.server import Certificates, Server
from tests.e2e.token_server import AUDIENCE, TokenProcess
from tests.e2e.world import World

SAMPLES: Final = Path(os.environ.get("TWINFRAME_SDK_SAMPLES", "/nowhere"))
STAND_IN: Final = Path(__file__).parent / "sdk_stand_in"
CAUGHT: Final = "This sample has caught an error"

NAMES: Final = (
    "async_samples/dt_create_digitaltwins_service_client_async.py",
    "async_samples/dt_digitaltwins_get_async.py",
    "dt_component_lifecycle.py",
    "dt_create_digitaltwins_service_client.py",
    "dt_digitaltwins_get.py",
    "dt_digitaltwins_lifecycle.py",
    "dt_digitaltwins_query.py",
    "dt_event_routes_get.py",
    "dt_event_routes_list.py",
    "dt_incoming_relationships_list.py",
    "dt_models_get.py",
    "dt_models_lifecycle.py",
    "dt_models_list.py",
    "dt_publish_component_telemetry.py",
    "dt_publish_telemetry.py",
    "dt_relationships_get.py",
    "dt_relationships_list.py",
    "dt_scenario.py",
)
SHOWN: Final = {
    "async_samples/dt_digitaltwins_get_async.py": "'$dtId': 'BuildingTwin'",
    "dt_component_lifecycle.py": "'ComponentProp1': 'value2'",
    "dt_digitaltwins_get.py": "'$dtId': '<DIGITAL_TWIN_ID>'",
    "dt_digitaltwins_lifecycle.py": "Updated Digital Twin:",
    "dt_digitaltwins_query.py": "'$dtId': 'BuildingTwin'",
    "dt_event_routes_list.py": "'endpoint_name': 'lines'",
    "dt_incoming_relationships_list.py": "'source_id': 'BuildingTwin'",
    "dt_models_lifecycle.py": "dtmi:samples:examplemodel;1",
    "dt_models_list.py": "dtmi:com:example:",
    "dt_relationships_get.py": "'$relationshipId': '<RELATIONSHIP_ID>'",
    "dt_relationships_list.py": "'$relationshipId': '<RELATIONSHIP_ID>'",
    "dt_scenario.py": "Created Event Route:",
}
"""What a sample prints when it did what it is for; the others print nothing of their own."""

FAULTY: Final = {
    "dt_models_get.py": "The format of the Model ID",
    "dt_publish_component_telemetry.py": "is not a DTDL name",
}
"""Samples that end in an error wherever they run, and what is said of it.

Readers are to fill in `<MODEL_ID>` and `<COMPONENT_NAME>`; as they are, no model and no component
can have such a name. Twins, relationships and routes can, so that the others run as they are.
"""
PERMISSIONS: Final = ("digitaltwins/*", "models/*", "query/read", "eventroutes/*")

pytestmark = pytest.mark.skipif(
    "TWINFRAME_SDK_SAMPLES" not in os.environ,
    reason="needs the samples of the vendor's SDK, and half a minute: make test-samples",
)


@pytest.fixture(scope="module")
def environment(
    tmp_path_factory: pytest.TempPathFactory, certificates: Certificates
) -> Iterator[dict[str, str]]:
    """What a user of the samples sets: a service and a token server run, both over TLS."""
    folder, authority = tmp_path_factory.mktemp("samples"), str(certificates.authority)
    with TokenProcess(folder, certificates) as tokens:
        caller = tokens.add_client("samples", *PERMISSIONS)
        settings = {
            "Authentication__Enabled": "true",
            "Authentication__Authority": tokens.issuer,
            "Authentication__Audience": AUDIENCE,
            "Authentication__CaFile": authority,
            "Events__Endpoints__lines__Type": "log",
        }
        with Server(folder, certificates, environment=settings) as server:
            fill(SyncClient(server.url, authority, tokens.get_token(caller)))
            yield {
                **{name: value for name, value in os.environ.items() if "AZURE" not in name},
                "AZURE_URL": server.url,
                "AZURE_CLIENT_ID": caller.client_id,
                "AZURE_CLIENT_SECRET": caller.client_secret,
                "AZURE_EVENT_HUB_ENDPOINT_NAME": "lines",
                "PYTHONPATH": str(STAND_IN),
                "REQUESTS_CA_BUNDLE": authority,
                "SSL_CERT_FILE": authority,
                "TWINFRAME_AUDIENCE": AUDIENCE,
                "TWINFRAME_TOKEN_URL": f"{tokens.issuer}/oauth/token",
            }
        log = server.log.read_text(encoding="utf-8")
        assert "Traceback" not in log, log[-4000:]


def fill(client: SyncClient) -> None:
    """What the samples read, under the very names that stand in them."""
    world = World.named(lambda stem: stem)
    client.create_models(world.models())
    for twin in ("BuildingTwin", "<DIGITAL_TWIN_ID>"):
        client.upsert_digital_twin(twin, world.building_twin())
    client.upsert_digital_twin("<DIGITAL TWIN ID>", world.room_twin())
    pair = ("BuildingTwin", "<DIGITAL_TWIN_ID>")
    for source, target in (pair, pair[::-1]):
        edge = {"$relationshipName": "knows", "$targetId": target}
        client.upsert_relationship(source, "<RELATIONSHIP_ID>", edge)
    route = DigitalTwinsEventRoute(endpoint_name="lines", filter="false")
    client.upsert_event_route("<EVENT_ROUTE_ID>", route)
    client.close()


def run_sample(name: str, environment: dict[str, str]) -> str:
    """What a sample prints; it must end with code 0."""
    done = subprocess.run(
        [sys.executable, str(SAMPLES / name)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=120,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.parametrize("name", [name for name in NAMES if name not in FAULTY])
def test_a_sample_ends_well(name: str, environment: dict[str, str]) -> None:
    printed = run_sample(name, environment)
    assert CAUGHT not in printed, printed
    assert "Traceback" not in printed, printed
    assert SHOWN.get(name, "") in printed


@pytest.mark.parametrize(("name", "said"), FAULTY.items())
def test_a_sample_that_nobody_can_serve_says_why(
    name: str, said: str, environment: dict[str, str]
) -> None:
    printed = run_sample(name, environment)
    assert CAUGHT in printed, "it ends well now: it is no longer faulty"
    assert said in printed


def test_no_sample_is_left_out() -> None:
    found = {str(path.relative_to(SAMPLES)) for path in SAMPLES.rglob("*.py")}
    assert found == set(NAMES)
