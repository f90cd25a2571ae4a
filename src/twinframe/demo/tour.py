"""The guided tour: loads the sample through the vendor's own SDK and runs some queries.

It is an ordinary client of the service's address.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from azure.core import MatchConditions
from azure.core.credentials import AccessToken
from azure.core.exceptions import ResourceExistsError
from azure.core.pipeline import PipelineRequest
from azure.core.pipeline.policies import BearerTokenCredentialPolicy, SansIOHTTPPolicy
from azure.digitaltwins.core import DigitalTwinsClient
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from twinframe.demo.building import Building, build_campus, load_ontology

CLIENTS = 8


@dataclass(frozen=True, slots=True)
class Question:
    """A query of the tour: its meaning in words, its text, and the columns to show."""

    title: str
    text: str
    columns: tuple[str, ...]


QUESTIONS = (
    Question(
        "Twins by model (Cypher, aggregation)",
        "MATCH (t:Twin) RETURN t.`$metadata`.`$model` AS model, count(*) AS twins "
        "ORDER BY twins DESC LIMIT 6",
        ("model", "twins"),
    ),
    Question(
        "The warmest rooms of any kind (Cypher, inheritance: Office, MeetingRoom, Corridor)",
        "MATCH (r:Room) WHERE r.climate.temperature > 24 "
        "RETURN r.name AS room, r.climate.temperature AS celsius, r.occupied AS occupied "
        "ORDER BY celsius DESC LIMIT 5",
        ("room", "celsius", "occupied"),
    ),
    Question(
        "What a fault of chiller 1 would reach (Cypher, up to three hops)",
        "MATCH (c:Chiller {name: 'Chiller 1'})-[:feeds*1..3]->(x) "
        "RETURN count(DISTINCT x) AS reached",
        ("reached",),
    ),
    Question(
        "Sensors that report a fault (the vendor's language)",
        "SELECT TOP(5) S.name, S.manufacturer, S.installed FROM DIGITALTWINS S "
        "WHERE IS_OF_MODEL(S, 'dtmi:com:example:building:Sensor;1') AND S.status = 'fault'",
        ("name", "manufacturer", "installed"),
    ),
    Question(
        "Meeting rooms of level 2 in the North Wing (the vendor's language, JOIN)",
        "SELECT R.$dtId, R.capacity FROM DIGITALTWINS L JOIN R RELATED L.contains "
        "WHERE L.$dtId = 'b1-l2' "
        "AND IS_OF_MODEL(R, 'dtmi:com:example:building:MeetingRoom;1')",
        ("$dtId", "capacity"),
    ),
)


class NoCredential:
    """A credential for a service without authentication, since the SDK requires one."""

    def get_token(self, *scopes: str, **_: object) -> AccessToken:
        """Return an unused token; `scopes` are what the SDK requests."""
        return AccessToken(f"none for {len(scopes)} scopes", 2**31)


@dataclass(frozen=True, slots=True)
class ClientCredential:
    """Gets tokens from a token endpoint by client credentials."""

    endpoint: str
    client_id: str
    client_secret: str

    def get_token(self, *_scopes: str, **_: object) -> AccessToken:
        """Return a new token; the SDK caches it until shortly before it expires."""
        form = {
            "grant_type": "client_credentials",
            "client_id": self.client_id,
            "client_secret": self.client_secret,
        }
        request = Request(self.endpoint, urlencode(form).encode())  # noqa: S310  (our own server)
        with urlopen(request, timeout=10) as answer:  # noqa: S310
            document = json.load(answer)
        return AccessToken(document["access_token"], int(time.time()) + document["expires_in"])


class PlainBearer(BearerTokenCredentialPolicy[Any, Any]):
    """The SDK's bearer policy, over http:// too: the demo stays on one machine."""

    def on_request(self, request: PipelineRequest[Any]) -> None:
        """Add the token, which the SDK otherwise does only over TLS."""
        request.context.options["enforce_https"] = False
        super().on_request(request)


def build_client(url: str, credential: ClientCredential | None = None) -> DigitalTwinsClient:
    """Build the vendor's client, over plain HTTP too; without a credential no token is sent."""
    if credential is None:
        policy = SansIOHTTPPolicy[Any, Any]()
        return DigitalTwinsClient(url, NoCredential(), authentication_policy=policy)
    return DigitalTwinsClient(url, credential, authentication_policy=PlainBearer(credential))


def load_sample(client: DigitalTwinsClient, console: Console) -> bool:
    """Load the missing parts of the sample; return whether there were any.

    Repeating changes nothing.
    """
    campus = build_campus()
    if _is_loaded(client, campus):
        console.print(f"The sample is loaded already: {len(campus.twins)} twins.")
        return False
    ontology = load_ontology()
    with Progress(console=console) as progress:
        models = progress.add_task("Models", total=len(ontology))
        _create_once(lambda: client.create_models([*ontology]))
        progress.advance(models, len(ontology))
        twins = progress.add_task("Twins", total=len(campus.twins))
        _run_all(
            lambda item: _put_twin(client, *item),
            campus.twins.items(),
            lambda: progress.advance(twins),
        )
        edges = progress.add_task("Relationships", total=len(campus.edges))
        _run_all(
            lambda edge: _create_once(
                lambda: client.upsert_relationship(
                    edge.source,
                    edge.id,
                    edge.document,
                    match_condition=MatchConditions.IfMissing,
                )
            ),
            campus.edges,
            lambda: progress.advance(edges),
        )
    return True


def ask_questions(client: DigitalTwinsClient, console: Console) -> None:
    """Run the tour's queries and print each with its text and its rows."""
    for question in QUESTIONS:
        rows = list(client.query_twins(question.text))
        table = Table(min_width=60)
        for column in question.columns:
            table.add_column(column)
        for row in rows:
            table.add_row(*(str(row.get(column, "")) for column in question.columns))
        console.print(f"\n[bold]{question.title}[/bold]", highlight=False)
        console.print(f"[dim]{question.text}[/dim]", highlight=False)
        console.print(table)


def is_empty(client: DigitalTwinsClient) -> bool:
    """Return whether the graph has neither twins nor models."""
    counted = next(iter(client.query_twins("SELECT COUNT() FROM DIGITALTWINS")))["COUNT"]
    return not counted and next(iter(client.list_models()), None) is None


def _is_loaded(client: DigitalTwinsClient, campus: Building) -> bool:
    twins = next(iter(client.query_twins("SELECT COUNT() FROM DIGITALTWINS")))["COUNT"]
    edges = next(iter(client.query_twins("SELECT COUNT() FROM RELATIONSHIPS")))["COUNT"]
    return bool(twins >= len(campus.twins) and edges >= len(campus.edges))


def _put_twin(client: DigitalTwinsClient, twin_id: str, document: Mapping[str, object]) -> None:
    _create_once(
        lambda: client.upsert_digital_twin(
            twin_id, dict(document), match_condition=MatchConditions.IfMissing
        )
    )


def _create_once(create: Callable[[], object]) -> None:
    # NOTE: an interrupted first run left a part; what exists is not changed.
    try:
        create()
    except ResourceExistsError:
        return


def _run_all(run: Callable[[Any], object], items: Iterable[Any], done: Callable[[], None]) -> None:
    with ThreadPoolExecutor(CLIENTS) as pool:
        for _ in pool.map(run, items):
            done()
