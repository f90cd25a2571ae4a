"""A service with Bolt from outside: its own graph and hosted ones, over TLS, by API keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import neo4j
import pytest
from neo4j.exceptions import AuthError, ClientError

from tests.e2e.hosted import Provisioner, build_environment, build_hosted
from tests.e2e.server import Certificates, Server, free_port, make_certificates
from tests.e2e.token_server import AUDIENCE, TokenProcess
from twinframe.access.authentication.api_keys import ApiKeys

PERMISSIONS = ["query/read", "query/write", "digitaltwins/read", "digitaltwins/write"]


@dataclass(frozen=True)
class Bolt:
    """A running service, and how to reach it."""

    port: int
    key: str
    certificates: Certificates

    def connect(self, key: str) -> neo4j.Driver:
        trust = neo4j.TrustCustomCAs(str(self.certificates.authority))
        uri = f"neo4j://127.0.0.1:{self.port}"
        return neo4j.GraphDatabase.driver(
            uri, auth=("any", key), encrypted=True, trusted_certificates=trust
        )


@pytest.fixture(scope="module")
def bolt(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bolt]:
    folder = tmp_path_factory.mktemp("bolt")
    certificates, port = make_certificates(folder), free_port()
    environment = build_environment(
        folder,
        Bolt__Enabled="true",
        Bolt__Bind=f"127.0.0.1:{port}",
        Graph__Open="true",
        Authentication__Enabled="true",
        Authentication__Mode="ApiKey",
        Authentication__ApiKeys__File=str(folder / "keys.db"),
        Metrics__Enabled="true",
        Metrics__Bind=f"127.0.0.1:{free_port()}",
    )
    _, key = ApiKeys(Path(folder / "keys.db")).create("all", PERMISSIONS)
    provisioner = Provisioner(environment)
    for name in ("left", "right"):
        provisioner.bring_up(build_hosted(name, audit_logging=True))
    with Server(folder, certificates, workers=2, environment=environment) as running:
        yield Bolt(port, key, certificates)
    log = running.log.read_text(encoding="utf-8")
    assert "Traceback" not in log, log[-4000:]


def test_hosted_graphs_are_databases(bolt: Bolt) -> None:
    with bolt.connect(bolt.key) as driver:
        for name in ("left", "right", "neo4j"):
            driver.execute_query("CREATE (:Thing {of: $of})", of=name, database_=name)
        for name in ("left", "right", "neo4j"):
            found = driver.execute_query("MATCH (n:Thing) RETURN n.of", database_=name)
            assert [record[0] for record in found.records] == [name]
        with pytest.raises(ClientError) as caught:
            driver.execute_query("RETURN 1", database_="middle")
        assert caught.value.code == "Neo.ClientError.Database.DatabaseNotFound"


def test_a_client_of_the_token_server_logs_in_by_its_id_and_secret(tmp_path: Path) -> None:
    port = free_port()
    with TokenProcess(tmp_path) as tokens:
        client = tokens.add_client("tool", "query/*", "digitaltwins/*")
        environment = {
            "Authentication__Enabled": "true",
            "Authentication__Mode": "Jwt",
            "Authentication__Authority": tokens.issuer,
            "Authentication__Audience": AUDIENCE,
            "Bolt__Enabled": "true",
            "Bolt__Bind": f"127.0.0.1:{port}",
            "Bolt__TokenEndpoint": f"{tokens.issuer}/oauth/token",
            "Graph__Open": "true",
        }
        with Server(tmp_path, environment=environment) as running:
            uri = f"bolt://127.0.0.1:{port}"
            auth = client.client_id, client.client_secret
            with neo4j.GraphDatabase.driver(uri, auth=auth) as driver:
                driver.execute_query("CREATE (:Thing)")
                assert driver.execute_query("MATCH (n:Thing) RETURN n").records
            for wrong in ((client.client_id, "wrong"), ("nobody", client.client_secret)):
                with (
                    neo4j.GraphDatabase.driver(uri, auth=wrong) as refused,
                    pytest.raises(AuthError),
                ):
                    refused.verify_connectivity()
        assert "Traceback" not in running.log.read_text(encoding="utf-8")


def test_a_wrong_key_is_refused(bolt: Bolt) -> None:
    with bolt.connect("tfk_no_such") as driver, pytest.raises(AuthError):
        driver.verify_connectivity()
