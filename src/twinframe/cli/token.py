"""`twinframe token`: gets an access token for use with curl, or decodes one."""

from __future__ import annotations

import sys
import urllib.error
import urllib.request
from http.client import HTTPException, HTTPMessage
from os import environ
from pathlib import Path
from ssl import SSLContext, create_default_context
from typing import IO, Any
from urllib.parse import urlencode

import click
import jwt
import orjson

from twinframe.cli.console import config_option, json_option, write_json
from twinframe.errors import ConfigurationError, InvalidArgument, TwinframeError
from twinframe.hooks.installation import load_installation
from twinframe.settings import check_endpoint
from twinframe.tokenserver.addresses import build_addresses

_SECRET_VARIABLE = "TWINFRAME_CLIENT_SECRET"  # noqa: S105  (a name)
_ID_VARIABLE = "TWINFRAME_CLIENT_ID"
_TIMEOUT_SECONDS = 10.0
_LONGEST_ANSWER = 256 * 1024


@click.command()
@click.option(
    "--client-id", envvar=_ID_VARIABLE, required=True, help=f"The client. Default: ${_ID_VARIABLE}."
)
@click.option(
    "--secret-stdin",
    is_flag=True,
    help=f"Read the secret from standard input, not from ${_SECRET_VARIABLE}.",
)
@click.option("--audience", help="Audience of the token.")
@click.option(
    "--scope", "scopes", multiple=True, help="Scope to request. Default: all scopes of the client."
)
@click.option(
    "--endpoint",
    metavar="URL",
    help="Token endpoint. Default: that of TokenServer in the settings.",
)
@click.option(
    "--ca",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="PEM file with the authority that signed the endpoint's certificate.",
)
@click.option("--decode", is_flag=True, help="Print the token's header and claims instead.")
@config_option
@json_option
def token(
    client_id: str,
    audience: str | None,
    scopes: tuple[str, ...],
    endpoint: str | None,
    ca: Path | None,
    config: Path | None,
    *,
    secret_stdin: bool,
    decode: bool,
    as_json: bool,
) -> None:
    """Get an access token by client credentials and print it.

    The secret cannot be an argument, because other users of the machine could see it.
    """
    if endpoint is None:
        settings = load_installation(config).settings.token_server
        endpoint = build_addresses(settings).token_endpoint
    form = {
        "grant_type": "client_credentials",
        "client_id": client_id,
        "client_secret": _read_secret(from_stdin=secret_stdin),
        "audience": audience,
        "scope": " ".join(scopes),
    }
    answer = request_token(endpoint, {name: value for name, value in form.items() if value}, ca)
    if decode:
        write_json(decode_token(answer["access_token"]))
    elif as_json:
        write_json(answer)
    else:
        click.echo(answer["access_token"])


def request_token(endpoint: str, form: dict[str, str], ca: Path | None = None) -> dict[str, Any]:
    """Return the answer of the token endpoint. Raises `ConfigurationError`, `InvalidArgument`."""
    try:
        check_endpoint(endpoint)  # SEC: the secret is sent there
    except ValueError as error:
        raise InvalidArgument(f"--endpoint {endpoint}: {error}.") from error
    request = urllib.request.Request(  # noqa: S310  (checked above)
        endpoint, urlencode(form).encode(), {"Accept": "application/json"}
    )
    context = create_default_context(cafile=str(ca) if ca else None)
    try:
        with _build_opener(endpoint, context).open(request, timeout=_TIMEOUT_SECONDS) as response:
            return _parse_answer(endpoint, response.read(_LONGEST_ANSWER))
    except urllib.error.HTTPError as error:
        with error:
            raise _build_refusal(endpoint, error) from error
    except (urllib.error.URLError, HTTPException, OSError) as error:
        reason = getattr(error, "reason", error)
        raise ConfigurationError(f"{endpoint} does not answer: {reason}") from error


def decode_token(text: str) -> dict[str, Any]:
    """Decode header and claims of a JWT without verification. Raises `InvalidArgument`."""
    try:
        found = jwt.decode_complete(text, options={"verify_signature": False})
    except jwt.InvalidTokenError as error:
        raise InvalidArgument(
            f"The access token is no JWT and cannot be shown: {error}."
        ) from error
    return {"header": found["header"], "claims": found["payload"]}


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """SEC: a secret is sent to its configured address and to no other."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> None:
        return None


def _build_opener(endpoint: str, context: SSLContext) -> urllib.request.OpenerDirector:
    handlers: list[urllib.request.BaseHandler] = [
        _NoRedirect(),
        urllib.request.HTTPSHandler(context=context),
    ]
    if endpoint.startswith("http://"):  # to this machine; a proxy would see the secret
        handlers.append(urllib.request.ProxyHandler({}))
    return urllib.request.build_opener(*handlers)


def _read_secret(*, from_stdin: bool) -> str:
    secret = sys.stdin.readline().strip() if from_stdin else environ.get(_SECRET_VARIABLE, "")
    if not secret:
        raise InvalidArgument(
            f"No client secret: set {_SECRET_VARIABLE}, or pipe it in with --secret-stdin."
        )
    return secret


def _parse_answer(endpoint: str, body: bytes) -> dict[str, Any]:
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        answer = None
    if not isinstance(answer, dict) or not isinstance(answer.get("access_token"), str):
        raise ConfigurationError(f"{endpoint} is no token endpoint: it answers with no token.")
    return answer


def _build_refusal(endpoint: str, error: urllib.error.HTTPError) -> TwinframeError:
    try:
        answer = orjson.loads(error.read(_LONGEST_ANSWER))
    except orjson.JSONDecodeError:
        answer = None
    if not isinstance(answer, dict) or "error" not in answer:
        return ConfigurationError(f"{endpoint} answers {error.code} and is no token endpoint.")
    description = answer.get("error_description", "")
    return InvalidArgument(f"{endpoint} refuses: {answer['error']}. {description}".strip())
