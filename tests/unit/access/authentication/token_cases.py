"""The 154 cases of the token matrix: how each is made and what may become of it.

`expected` names every allowed outcome: `200` accepted, `401` refused, `403s` accepted but without
the scope `mcp:tools`, `403p` accepted but without the permission `mcp/*`.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

from tests.unit.access.authentication.token_factory import (
    DROP,
    OCT_SECRET,
    TokenFactory,
    encode,
    private_key,
    public_bytes,
    public_jwk,
)

Build: TypeAlias = Callable[[TokenFactory], bytes]


@dataclass(frozen=True, slots=True)
class Case:
    """One token and its allowed outcomes. `build` gives it as it stands after `Bearer `."""

    number: int
    name: str
    build: Build
    expected: frozenset[str]


def build_cases(first: int, rows: Iterable[tuple[str, str, Build]]) -> tuple[Case, ...]:
    """Cases numbered from `first`, of (expected, name, build)."""
    return tuple(
        Case(number, name, build, frozenset(expected.split("/")))
        for number, (expected, name, build) in enumerate(rows, first)
    )


def flip(token: bytes, at: int) -> bytes:
    """The token with another character at an index."""
    index = at % len(token)
    return token[:index] + (b"A" if token[index : index + 1] != b"A" else b"B") + token[index + 1 :]


def swap(token: bytes, index: int, segment: bytes) -> bytes:
    """The token with another segment."""
    parts = token.split(b".")
    parts[index] = segment
    return b".".join(parts)


def _parts(f: TokenFactory, key: str = "rsa", **claims: Any) -> list[bytes]:
    return f.token(key, **claims).split(b".")


def _claim(name: str, value: Any) -> Build:
    return lambda f: f.token(**{name: value})


def _head(**header: Any) -> Build:
    return lambda f: f.token(header=header)


def _time(name: str, offset: float) -> Build:
    return lambda f: f.signed(f.payload(**{name: f.now + offset}))


def _member(name: str, text: str) -> Build:
    """A claim whose JSON text is this."""
    return lambda f: f.signed(f.payload(f'"{name}": {text}', **{name: DROP}))


def _confused(secret: Callable[[], bytes], kid: str = "rsa-1") -> Build:
    return lambda f: f.token(header={"alg": "HS256", "kid": kid}, secret=secret())


def _none(alg: str, signature: bytes = b"", **header: Any) -> Build:
    return lambda f: f.unsigned({"alg": alg, "typ": "JWT", **header}, signature)


def _attacker(**header: Any) -> Build:
    return lambda f: f.token("attacker", header=header)


def _jwk() -> dict[str, Any]:
    return public_jwk("attacker", kid="attacker-1", alg="RS256")


def _standard_alphabet(f: TokenFactory) -> bytes:
    header = json.dumps({**f.header(), "x": "\u00ff\u00fe>>>???~~~"}, ensure_ascii=False).encode()
    data = b64encode(header).rstrip(b"=")
    assert b"+" in data or b"/" in data
    return swap(f.raw(header, f.payload().encode()), 0, data)


def _der_signature(f: TokenFactory) -> bytes:
    parts = _parts(f, "ec")
    signature = private_key("ec").sign(b".".join(parts[:2]), ec.ECDSA(hashes.SHA256()))
    return b".".join([*parts[:2], encode(signature)])


def _zero_signature(key: str) -> Build:
    return lambda f: swap(f.token(key), 2, encode(bytes(64)))


_FORM: Final[list[tuple[str, str, Build]]] = [
    ("200", "ok RS256 typ JWT", lambda f: f.token()),
    ("200", "ok ES256", lambda f: f.token("ec")),
    ("200", "ok EdDSA", lambda f: f.token("ed")),
    ("200", "ok typ at+jwt", _head(typ="at+jwt")),
    ("200", "ok typ application/at+jwt", _head(typ="application/at+jwt")),
    ("200", "ok typ AT+JWT", _head(typ="AT+JWT")),
    ("200", "ok typ absent", _head(typ=DROP)),
    ("200", "ok aud list contains", lambda f: f.token(aud=["other", f.audience])),
    ("200", "ok exp 10s ago (leeway 30)", _time("exp", -10)),
    ("200", "ok nbf +10s (leeway)", _time("nbf", 10)),
    ("200", "ok float exp", _time("exp", 300.5)),
    ("200", "ok no iat/jti/client_id", lambda f: f.token(iat=DROP, jti=DROP, client_id=DROP)),
    ("200", "ok scope many", _claim("scope", "openid mcp:tools mcp:resources")),
    ("401", "empty", lambda f: b""),
    ("401", "one segment", lambda f: _parts(f)[0]),
    ("401", "two segments", lambda f: b".".join(_parts(f)[:2])),
    ("401", "four segments", lambda f: f.token() + b".AAAA"),
    ("401", "JWE five segments", lambda f: b".".join([*_parts(f), b"AAAA", b"AAAA"])),
    ("401", "empty signature", lambda f: swap(f.token(), 2, b"")),
    ("401", "header not base64", lambda f: swap(f.token(), 0, b"!!!!")),
    ("401", "header not JSON", lambda f: f.headed("not json")),
    ("401", "header JSON array", lambda f: f.headed(json.dumps([f.header()]))),
    ("401", "payload not JSON", lambda f: f.signed("not json")),
    ("401", "payload JSON array", lambda f: f.signed(json.dumps([f.claims()]))),
    ("401", "payload null", lambda f: f.signed("null")),
    (
        "401",
        "payload invalid UTF-8",
        lambda f: f.signed(f.payload().encode()[:-1] + b',"x":"\xff"}'),
    ),
    ("401", "deeply nested payload", _member("x", "[" * 2500 + "]" * 2500)),
    ("401", "token 20 kB", _claim("x", "y" * 15_000)),
    ("401", "newline inside", lambda f: b".\n".join(f.token().split(b".", 1))),
    ("401", "padded base64 '='", lambda f: f.token() + b"=="),
    ("401", "non-ASCII char", lambda f: f.token().replace(b".", ".é".encode(), 1)),
    ("401", "std-b64 chars +/", _standard_alphabet),
    ("401", "payload tampered", lambda f: swap(f.token(), 1, _parts(f, sub="admin")[1])),
    (
        "401",
        "header tampered",
        lambda f: swap(f.token(), 0, encode(json.dumps(f.header(typ="at+jwt")).encode())),
    ),
    ("401", "signature of other token", lambda f: swap(f.token(), 2, _parts(f, sub="other")[2])),
    ("401", "signature truncated", lambda f: f.token()[:-4]),
    ("401", "signature bit flip", lambda f: flip(f.token(), -40)),
    ("401", "signed by unrelated RSA key", _attacker(kid="rsa-1")),
]

_ALGORITHMS: Final[list[tuple[str, str, Build]]] = [
    ("401", "alg none, empty sig", _none("none", kid="rsa-1")),
    ("401", "alg None + junk sig", _none("None", b"AAAA", kid="rsa-1")),
    ("401", "alg nOnE", _none("nOnE", kid="rsa-1")),
    ("401", "alg none no kid", _none("none")),
    ("401", "HS256 with RSA public PEM", _confused(lambda: public_bytes("rsa", Encoding.PEM))),
    ("401", "HS256 with RSA public DER", _confused(lambda: public_bytes("rsa", Encoding.DER))),
    ("401", "HS256 with JWK JSON", _confused(lambda: json.dumps(public_jwk("rsa")).encode())),
    ("401", "HS256 with kid of oct key in JWKS", _confused(lambda: OCT_SECRET, "oct-1")),
    ("401", "HS256 empty key", _confused(lambda: b"")),
    ("401", "RS512 where JWK says RS256", _head(alg="RS512")),
    ("401", "PS256 where JWK says RS256", _head(alg="PS256")),
    ("401", "RS256 header, kid of EC key", _head(kid="ec-1")),
    ("401", "ES256 header, kid of RSA key", lambda f: f.token("ec", {"kid": "rsa-1"})),
    ("401", "alg missing", _head(alg=DROP)),
    ("401", "alg number", _head(alg=256)),
    ("401", "alg list", _head(alg=["RS256"])),
    ("401", "alg lower-case rs256", lambda f: f.token(header={"alg": "rs256"}, sign_as="RS256")),
    ("401", "alg unsupported RS1", _head(alg="RS1")),
    (
        "200/401",
        "duplicate alg in header",
        lambda f: f.headed('{"alg":"none","alg":"RS256","kid":"rsa-1"}'),
    ),
    ("401", "ES256 DER signature", _der_signature),
    ("401", "ES256 all-zero signature", _zero_signature("ec")),
    ("401", "EdDSA all-zero signature", _zero_signature("ed")),
    ("401", "RSA 1024 key in JWKS", lambda f: f.token("small")),
    ("401", "key with use=enc", lambda f: f.token("enc")),
    ("401", "crit unknown", _head(crit=["exp2"], exp2=1)),
    ("401", "crit empty list", _head(crit=[])),
    ("401", "b64=false with crit", _head(crit=["b64"], b64=False)),
    ("401", "zip DEF", _head(zip="DEF")),
    (
        "401",
        "embedded jwk of attacker",
        lambda f: f.token("attacker", {"jwk": _jwk(), "kid": "attacker-1"}),
    ),
    (
        "401",
        "embedded jwk, trusted kid",
        lambda f: f.token("attacker", {"jwk": _jwk(), "kid": "rsa-1"}),
    ),
    ("401", "jku attacker URL", _attacker(jku="https://attacker.test/jwks.json", kid="attacker-1")),
    (
        "401",
        "x5u/x5c attacker",
        _attacker(x5u="https://attacker.test/c.pem", x5c=["AAAA"], kid="rsa-1"),
    ),
    ("401", "kid unknown", _head(kid="nobody-knows-me")),
    ("401", "kid missing, several keys", _head(kid=DROP)),
    ("401", "kid path traversal", _head(kid="../../../../dev/null")),
    ("401", "kid SQL", _head(kid="x' UNION SELECT 'key' --")),
    ("401", "kid number", _head(kid=1)),
    ("401", "kid list", _head(kid=["rsa-1"])),
    ("401", "kid object", _head(kid={"rsa-1": 1})),
    ("401", "kid empty", _head(kid="")),
    ("401", "kid 10 kB", _head(kid="k" * 10_000)),
    ("401", "typ logout+jwt", _head(typ="logout+jwt")),
    ("401", "typ dpop+jwt", _head(typ="dpop+jwt")),
    ("401", "typ secevent+jwt", _head(typ="secevent+jwt")),
    ("401", "typ oauth-id-jag+jwt", _head(typ="oauth-id-jag+jwt")),
    ("401", "typ number", _head(typ=1)),
]

_CLAIMS: Final[list[tuple[str, str, Build]]] = [
    ("401", "exp missing", _claim("exp", DROP)),
    ("401", "exp past", _time("exp", -3600)),
    ("401", "exp string number", lambda f: f.token(exp=str(f.now + 300))),
    ("401", "exp garbage", _claim("exp", "soon")),
    ("401", "exp true", _claim("exp", True)),
    ("401", "exp null", _claim("exp", None)),
    ("401", "exp negative", _claim("exp", -1)),
    ("401", "exp 1e400 (Infinity)", _member("exp", "1e400")),
    ("401", "exp NaN", _member("exp", "NaN")),
    ("401", "exp 10**400 int", _member("exp", str(10**400))),
    ("401", "exp list", lambda f: f.token(exp=[f.now + 300])),
    ("401", "exp in 10 years (max lifetime 24 h+)", _time("exp", 10 * 365 * 86_400)),
    ("401", "nbf future", _time("nbf", 600)),
    ("401", "nbf string", lambda f: f.token(nbf=str(f.now - 5))),
    ("401", "iat future", _time("iat", 600)),
    ("401", "iat string", lambda f: f.token(iat=str(f.now - 5))),
    ("401", "iss missing", _claim("iss", DROP)),
    ("401", "iss wrong", _claim("iss", "https://attacker.test/")),
    ("401", "iss without trailing slash", lambda f: f.token(iss=f.issuer[:-1])),
    ("401", "iss case differs", lambda f: f.token(iss=f.issuer.title())),
    ("401", "iss list", lambda f: f.token(iss=[f.issuer])),
    ("401", "iss null", _claim("iss", None)),
    ("401", "iss object", lambda f: f.token(iss={f.issuer: True})),
    ("401", "aud missing", _claim("aud", DROP)),
    ("401", "aud wrong", _claim("aud", "https://other.test")),
    ("401", "aud list without ours", _claim("aud", ["https://other.test", "x"])),
    ("401", "aud empty list", _claim("aud", [])),
    ("401", "aud empty string", _claim("aud", "")),
    ("401", "aud suffix attack", lambda f: f.token(aud=f.audience + ".attacker.test")),
    ("401", "aud list with number", lambda f: f.token(aud=[f.audience, 1])),
    ("401", "aud object", lambda f: f.token(aud={f.audience: True})),
    ("401", "aud number", _claim("aud", 1)),
    ("401", "ID token (aud=client_id)", lambda f: f.token(aud="client-1", nonce="n", scope=DROP)),
    ("401", "sub missing", _claim("sub", DROP)),
    ("401", "sub empty", _claim("sub", "")),
    ("401", "sub number", _claim("sub", 7)),
    ("401", "sub null", _claim("sub", None)),
    ("200/401", "jti number", _claim("jti", 7)),
    (
        "401",
        "duplicate aud claim, last wrong",
        lambda f: f.signed(f.payload('"aud": "https://other.test"')),
    ),
]

_RIGHTS: Final[list[tuple[str, str, Build]]] = [
    ("403s", "scope missing", _claim("scope", DROP)),
    ("403s", "scope empty", _claim("scope", "")),
    ("403s", "scope other", _claim("scope", "openid profile")),
    ("403s", "scope prefix mcp:toolsx", _claim("scope", "mcp:toolsx")),
    ("403s", "scope suffix xmcp:tools", _claim("scope", "xmcp:tools")),
    ("403s", "scope mcp:tools:read", _claim("scope", "mcp:tools:read")),
    ("403s", "scope case", _claim("scope", "MCP:Tools")),
    ("403s", "scope mcp:resources only", _claim("scope", "mcp:resources")),
    ("403s", "scope tab separated", _claim("scope", "openid\tmcp:tools")),
    ("403s", "scope newline", _claim("scope", "openid\nmcp:tools")),
    ("403s", "scope comma separated", _claim("scope", "openid,mcp:tools")),
    ("403s", "scope wildcard mcp:*", _claim("scope", "mcp:*")),
    ("403s", "scp instead of scope", lambda f: f.token(scope=DROP, scp="mcp:tools")),
    ("403s/401", "scope number", _claim("scope", 1)),
    ("403s/401", "scope object", _claim("scope", {"mcp:tools": True})),
    ("403s/401", "scope null", _claim("scope", None)),
    ("200/403s", "scope list of str", _claim("scope", ["mcp:tools"])),
    ("403s/401", "scope list of list", _claim("scope", [["mcp:tools"]])),
    ("403p", "permissions missing", _claim("permissions", DROP)),
    ("403p", "permissions empty", _claim("permissions", [])),
    ("403p", "permissions without mcp/*", _claim("permissions", ["digitaltwins/*", "query/read"])),
    ("403p", "permissions mcp/read", _claim("permissions", ["mcp/read"])),
    ("403p", "permissions mcp/", _claim("permissions", ["mcp/"])),
    ("403p", "permissions xmcp/*", _claim("permissions", ["xmcp/*"])),
    ("403p", "permissions mcp/*/x", _claim("permissions", ["mcp/*/x"])),
    ("403p", "permissions */*", _claim("permissions", ["*/*"])),
    ("403p/401", "permissions number", _claim("permissions", 1)),
    ("200/403p/401", "permissions mixed types", _claim("permissions", ["mcp/*", 1, None])),
    ("403p/401", "permissions object", _claim("permissions", {"mcp/*": True})),
    ("200/403p", "permissions string mcp/*", _claim("permissions", "mcp/*")),
    (
        "403s",
        "no scope and no permission: scope first",
        lambda f: f.token(scope=DROP, permissions=DROP),
    ),
]

CASES: Final = build_cases(1, [*_FORM, *_ALGORITHMS, *_CLAIMS, *_RIGHTS])
"""The matrix, in its order and with its numbers."""
