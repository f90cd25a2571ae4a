"""What authentication costs: the same reads with tokens and Claims on, against the same without."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from pathlib import Path

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

from benchmarks.http import GET, QUERIES, Load, add_pairs, build_query_script
from benchmarks.report import Report
from tests.e2e.server import Server

ISSUER = "https://issuer.example/"
AUDIENCE = "https://twins.example"
CALLERS = 50


def write_keys(folder: Path) -> tuple[str, ec.EllipticCurvePrivateKey]:
    """A key set of one key in a file of `folder`; the file and the key."""
    key = ec.generate_private_key(ec.SECP256R1())
    public = json.loads(ECAlgorithm.to_jwk(key.public_key()))
    place = folder / "keys.json"
    place.write_text(json.dumps({"keys": [{**public, "kid": "one", "use": "sig"}]}))
    return str(place), key


def build_token(key: ec.EllipticCurvePrivateKey, number: int) -> str:
    """A token of an hour for one of the callers, with the permissions of a reader."""
    now = int(time.time())
    claims = {
        "iss": ISSUER, "aud": AUDIENCE, "sub": f"user-{number}", "iat": now, "exp": now + 3600,
        "permissions": ["digitaltwins/read", "models/read", "query/read", "eventroutes/read"],
        "scope": "mcp:tools",
    }  # fmt: skip
    return jwt.encode(claims, key, algorithm="ES256", headers={"kid": "one"})


def measure(report: Report, data: Path, *, quick: bool) -> None:
    """GET of a twin on two services over the same graph, one worker each, turn by turn."""
    if shutil.which("wrk") is None:
        print("wrk is not installed (Debian: apt-get install wrk): HTTP figures are left out")
        return
    load = Load(2 if quick else 5, 4 if quick else 8)
    with tempfile.TemporaryDirectory() as temporary:
        keys, key = write_keys(Path(temporary))
        tokens = [build_token(key, number) for number in range(CALLERS)]
        storage = {"Storage__Sqlite__Directory": str(data)}
        access = {
            "Authentication__Enabled": "true",
            "Authentication__Audience": AUDIENCE,
            "Authentication__Issuer": ISSUER,
            "Authentication__KeysFile": keys,
            "RateLimits__Enabled": "false",  # a few callers make the whole load
        }
        script = _build_script(tokens)
        folders = [Path(temporary) / name for name in ("open", "closed")]
        for folder in folders:
            folder.mkdir()
        with (
            Server(folders[0], environment=storage) as opened,
            Server(folders[1], environment=storage | access) as closed,
        ):
            # The same requests, header and all.
            pairs = [
                (load.measure(closed, script), load.measure(opened, script))
                for _ in range(load.rounds)
            ]
            name, aim = "GET twin with tokens and Claims", "≥ 0.85 of the same without"
            add_pairs(report, name, pairs, aim, 0.85)
            load.run(closed.url, _add_tokens(build_query_script(*QUERIES[0][1:3]), tokens))
            for name, text, rest, least in QUERIES:
                asked = _add_tokens(build_query_script(text, rest), tokens)
                pairs = [
                    (load.measure(closed, asked), load.measure(closed, script))
                    for _ in range(load.rounds)
                ]
                add_pairs(report, f"{name}, with tokens", pairs, f"≥ {least} of GET", least)


def _build_script(tokens: list[str]) -> str:
    """GET of a twin; the header is a table made once, as a client's would be."""
    asking = 'wrk.format("GET", "/digitaltwins/sensor-" .. (n * 7919 % 20000)'
    return _add_tokens(GET.replace(f"{asking})", f"{asking}, nil)"), tokens)


def _add_tokens(script: str, tokens: list[str]) -> str:
    listed = ", ".join(f'"Bearer {token}"' for token in tokens)
    return script.replace(", nil", ", headers[n % #headers + 1]", 1).replace(
        "local n = 0",
        f"local headers = {{}}\nfor _, token in ipairs({{{listed}}}) do\n"
        '  headers[#headers + 1] = {["Authorization"] = token, ["Host"] = "127.0.0.1",\n'
        '    ["Content-Type"] = "application/json"}\nend\n'
        "local n = 0",
    )
