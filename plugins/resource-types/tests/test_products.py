"""Types that products carry out: what is asked of them, and what their answers mean."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx2
import orjson
import pytest

from twinframe.errors import ConfigurationError
from twinframe.hooks.installation import load_installation
from twinframe.hooks.resource_types.base import ProvisionContext, Provisioned, ProvisionFailed
from twinframe.hooks.resource_types.hosting import ResourceName
from twinframe.hooks.resource_types.prices import Meter, Sku
from twinframe_resource_types.assembler import AssemblerType
from twinframe_resource_types.compass import CompassType
from twinframe_resource_types.flow import FlowType
from twinframe_resource_types.graph import GraphType
from twinframe_resource_types.settings import ProductSettings

URL = "https://flow.example/v1"
JSON = {"Content-Type": "application/json"}

Answer = httpx2.Response | Exception | Callable[[], Any]


@dataclass
class Product(httpx2.AsyncBaseTransport):
    """Answers as told, one a request, and keeps what it was asked."""

    answers: list[Answer] = field(default_factory=list)
    asked: list[tuple[str, str, httpx2.Headers, Any]] = field(default_factory=list)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        body = await request.aread()
        document = orjson.loads(body) if body else None
        self.asked.append((request.method, str(request.url), request.headers, document))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, httpx2.Response):
            return answer
        return await answer()  # type: ignore[no-any-return]  # tests give responses

    def build(self, **settings: Any) -> FlowType:
        return FlowType(ProductSettings(product_url=URL, **settings), transport=self)


def _context(settings: dict[str, Any] | None = None) -> ProvisionContext:
    async def step(_name: str) -> None:
        return None

    return ProvisionContext(
        name=ResourceName("my-flow", "0a1b"),
        project_id="prj",
        title="My flow",
        sku=Sku.PRO,
        settings_json=orjson.dumps(settings or {}).decode(),
        settings=settings or {},
        operation_id="op.1",
        attempt=1,
        fence=3,
        step=step,
    )


def _json(status: int, document: object) -> httpx2.Response:
    return _stream(status, JSON, orjson.dumps(document))


def _stream(status: int, headers: dict[str, str], body: bytes) -> httpx2.Response:
    """As it comes from the network: not read yet."""
    return httpx2.Response(status, headers=headers, stream=httpx2.ByteStream(body))


def _provision(product: Product, **settings: Any) -> Provisioned:
    return asyncio.run(product.build(**settings).provision(_context({"retention_days": 3})))


def _refused(product: Product, **settings: Any) -> ProvisionFailed:
    with pytest.raises(ProvisionFailed) as caught:
        _provision(product, **settings)
    return caught.value


def test_a_resource_is_handed_to_its_product() -> None:
    product = Product([_json(200, {"access_url": "https://flow.example/my-flow"})])
    assert _provision(product, bearer_token="secret").access_url == "https://flow.example/my-flow"
    ((method, url, headers, document),) = product.asked
    assert (method, url) == ("PUT", f"{URL}/resources/my-flow")
    assert headers["Idempotency-Key"] == "op.1"
    assert headers["Authorization"] == "Bearer secret"
    assert document == {
        "resource_id": "my-flow",
        "incarnation": "0a1b",
        "project_id": "prj",
        "name": "My flow",
        "type": "Platform.Flow",
        "sku": "pro",
        "settings": {"retention_days": 3},
        "attempt": 1,
        "fence": 3,
    }


def test_an_answer_without_an_address_is_good() -> None:
    assert _provision(Product([httpx2.Response(204)])).access_url is None


def test_an_error_message_is_final_and_for_the_owner() -> None:
    error = _refused(Product([_json(200, {"error_message": "no room"})]))
    assert (error.message, error.final) == ("no room", True)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422, 301, 302])
def test_a_refusal_is_final(status: int) -> None:
    assert _refused(Product([httpx2.Response(status)])).final
    error = _refused(Product([_json(status, {"error_message": "bad mode"})]))
    assert (error.message, error.final) == ("bad mode", True)


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_what_fails_for_now_is_tried_again(status: int) -> None:
    error = _refused(Product([httpx2.Response(status)]))
    assert (error.message, error.final) == (f"The product answered {status}.", False)


@pytest.mark.parametrize("failure", [httpx2.ConnectError("x"), httpx2.ReadError("x"), OSError("x")])
def test_a_product_that_is_not_there_is_tried_again(failure: Exception) -> None:
    error = _refused(Product([failure]))
    assert (error.final, "cannot be reached" in error.message) == (False, True)


def test_a_product_that_takes_too_long_is_tried_again() -> None:
    error = _refused(Product([lambda: asyncio.sleep(60)]), timeout_seconds=0.01)
    assert (error.final, "TimeoutError" in error.message) == (False, True)


@pytest.mark.parametrize(
    "answer",
    [
        (JSON, b"{"),
        (JSON, b'"' + b"x" * 2000 + b'"'),
        ({**JSON, "Content-Encoding": "br"}, b"{}"),
        (JSON, b"[1]"),
        ({"Content-Type": "text/html"}, b"<html>Welcome</html>"),
        ({}, b"ok"),
    ],
)
def test_an_answer_that_cannot_be_used_is_tried_again(
    answer: tuple[dict[str, str], bytes],
) -> None:
    error = _refused(Product([_stream(200, *answer)]), max_answer_bytes=1000)
    assert (error.final, "StreamConsumed" in error.message) == (False, False)


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "ftp://x", "https://", "x" * 3000, 7, "https://a\nb", "//x"]
)
def test_an_address_that_is_none_is_refused(url: object) -> None:
    error = _refused(Product([_json(200, {"access_url": url})]))
    assert (error.final, "no URL" in error.message) == (True, True)


def test_a_resource_that_the_product_does_not_know_is_taken_down() -> None:
    product = Product([httpx2.Response(204), httpx2.Response(404), httpx2.Response(410)])
    for _ in range(3):
        asyncio.run(product.build().deprovision(_context()))
    for _, _, headers, _ in product.asked:  # a late one must not take down the id's next bearer
        assert headers["Twinframe-Incarnation"] == "0a1b"
        assert headers["Twinframe-Fence"] == "3"
    assert [asked[:2] for asked in product.asked] == [("DELETE", f"{URL}/resources/my-flow")] * 3


def test_what_a_proxy_answers_is_no_health() -> None:
    page = _stream(200, {"Content-Type": "text/html"}, b"<html>Sign in</html>")
    with pytest.raises(ProvisionFailed, match="not JSON"):
        asyncio.run(Product([page]).build().health(_context()))


@pytest.mark.parametrize("headers", [{}, {"Content-Type": "text/plain", "Content-Length": "0"}])
def test_an_empty_answer_needs_no_type(headers: dict[str, str]) -> None:
    assert _provision(Product([_stream(200, headers, b"")])).access_url is None


def test_a_deletion_that_is_answered_in_words_is_done() -> None:
    words = _stream(200, {"Content-Type": "text/plain"}, b"OK")
    asyncio.run(Product([words]).build().deprovision(_context()))


def test_a_product_that_cannot_take_down_now_is_asked_again() -> None:
    with pytest.raises(ProvisionFailed):
        asyncio.run(Product([httpx2.Response(503)]).build().deprovision(_context()))


@pytest.mark.parametrize(
    ("answer", "finding"),
    [
        (_json(200, {}), None),
        (_json(200, {"error_message": "stuck"}), "stuck"),
        (httpx2.Response(404), "the product does not know it"),
    ],
)
def test_the_product_says_how_a_resource_is(answer: httpx2.Response, finding: str | None) -> None:
    assert asyncio.run(Product([answer]).build().health(_context())) == finding


@pytest.mark.parametrize("kind", [FlowType, AssemblerType, CompassType])
def test_without_an_address_a_resource_runs_and_says_so(
    kind: type[FlowType | AssemblerType | CompassType],
) -> None:
    found = asyncio.run(kind().provision(_context()))
    section = kind.__name__.removesuffix("Type")
    assert found.access_url is None
    assert f"Resources__{section}__ProductUrl" in found.note
    asyncio.run(kind().deprovision(_context()))
    assert asyncio.run(kind().health(_context())) is None


def test_the_settings_of_each_type_stand_under_its_name() -> None:
    environ = {
        "Resources__Flow__ProductUrl": "https://flow.example",
        "RESOURCES__COMPASS__PRODUCTURL": "http://127.0.0.1:9000",
    }
    types = load_installation(None, environ).build_resource_types()
    urls = {
        kind.name: kind._settings.product_url  # type: ignore[attr-defined]  # the four are known
        for kind in types
        if kind.name != "Platform.Graph"
    }
    assert urls == {
        "Platform.Flow": "https://flow.example",
        "Platform.Assembler": "",
        "Platform.Compass": "http://127.0.0.1:9000",
    }


@pytest.mark.parametrize(
    ("key", "value", "hint"),
    [
        ("Resources__Flow__ProductUrl", "http://flow.example", "AllowPlainHttp"),
        ("Resources__Flow__ProductUrl", "https://flow.example/?a=1", "without a query"),
        ("Resources__Flow__ProductUrll", "https://flow.example", "ProductUrl?"),
        ("Resources__Flw__ProductUrl", "https://flow.example", "Did you mean"),
        ("Resources__Graph__ProductUrl", "https://x.example", "takes no settings"),
    ],
)
def test_a_wrong_setting_stops_the_start(key: str, value: str, hint: str) -> None:
    with pytest.raises(ConfigurationError, match=hint.replace("?", r"\?")) as caught:
        load_installation(None, {key: value})
    assert key.rpartition("__")[0] in caught.value.message


@pytest.mark.parametrize("kind", [GraphType, FlowType, AssemblerType, CompassType])
def test_each_type_has_a_price_list_of_whole_minor_units(
    kind: type[GraphType | FlowType | AssemblerType | CompassType],
) -> None:
    prices = kind().prices()
    assert len({(price.sku, price.meter) for price in prices}) == len(prices)
    assert {price.sku for price in prices if price.meter is Meter.MONTH} == {
        Sku.PRO,
        Sku.ENTERPRISE,
    }
    assert all(isinstance(price.amount, int) for price in prices)
    assert Sku.FREE not in {price.sku for price in prices}
