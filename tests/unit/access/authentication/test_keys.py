from __future__ import annotations

from base64 import urlsafe_b64decode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.access.authentication.token_factory import encode, public_jwk, sign
from twinframe.access.authentication.keys import KeySet, build_key_set
from twinframe.errors import Unauthenticated
from twinframe.model.values import JsonValue


def kept(*keys: Any) -> list[tuple[str | None, str]]:
    """Key id and algorithm of those of these keys that are usable, beside a good one."""
    document = {"keys": [*keys, public_jwk("ed", kid="good")]}
    found = [(key.kid, key.algorithm) for key in build_key_set(document).keys]
    assert found.pop() == ("good", "EdDSA")
    return found


def key_set(*keys: Any) -> KeySet:
    document: dict[str, JsonValue] = {"keys": list(keys)}
    return build_key_set(document)


@pytest.mark.parametrize(
    ("name", "algorithm"),
    [("rsa", "RS256"), ("ec", "ES256"), ("p384", "ES384"), ("ed", "EdDSA")],
)
def test_a_key_without_alg_is_for_the_one_of_its_type_and_curve(name: str, algorithm: str) -> None:
    assert kept(public_jwk(name, kid="k")) == [("k", algorithm)]
    found = key_set(public_jwk(name, kid="k")).find("k", algorithm)
    assert found is not None
    assert found.verify(b"data", sign(b"data", name, algorithm))
    assert not found.verify(b"date", sign(b"data", name, algorithm))


@pytest.mark.parametrize("algorithm", ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"])
def test_an_rsa_key_is_for_the_algorithm_it_names_alone(algorithm: str) -> None:
    keys = key_set(public_jwk("rsa", kid="k", alg=algorithm))
    found = keys.find("k", algorithm)
    assert found is not None
    assert found.verify(b"data", sign(b"data", "rsa", algorithm))
    for other in {"RS256", "PS256", "HS256", "none"} - {algorithm}:
        with pytest.raises(Unauthenticated):
            keys.find("k", other)


@pytest.mark.parametrize(
    "key",
    [
        public_jwk("rsa", use="enc"),
        public_jwk("rsa", use=None),
        public_jwk("rsa", use=["sig"]),
        public_jwk("rsa", key_ops=["encrypt"]),
        public_jwk("rsa", key_ops="verify"),
        public_jwk("rsa", alg="RSA-OAEP"),
        public_jwk("rsa", alg="HS256"),
        public_jwk("rsa", alg="ES256"),
        public_jwk("rsa", alg="none"),
        public_jwk("rsa", alg=None),
        public_jwk("rsa", alg=["RS256"]),
        public_jwk("rsa", kid=1),
        public_jwk("rsa", kid=""),
        public_jwk("rsa", kid=["k"]),
        public_jwk("rsa", n="!!!"),
        public_jwk("rsa", n=""),
        public_jwk("rsa", n=7),
        public_jwk("rsa", n=None),
        public_jwk("rsa", n="A" * 5000),
        public_jwk("rsa", e="AQ"),
        public_jwk("rsa", e="Ag"),
        public_jwk("rsa", e="A" * 400),
        {"kty": "RSA"},
        public_jwk("small"),
        public_jwk("koblitz"),
        public_jwk("ed448"),
        public_jwk("ec", crv="P-384"),
        public_jwk("ec", crv="Ed25519"),
        public_jwk("ec", crv=None),
        public_jwk("ec", x="AA"),
        public_jwk("ec", y=encode(bytes(32)).decode()),
        public_jwk("ec", alg="ES384"),
        public_jwk("ed", alg="Ed25519"),
        public_jwk("ed", alg="ECDH-ES"),
        public_jwk("ed", crv="X25519"),
        public_jwk("ed", x=encode(bytes(31)).decode()),
        {"kty": "oct", "k": "c2VjcmV0", "alg": "HS256"},
        {"kty": "oct", "k": "c2VjcmV0", "alg": "RS256"},
        {"kty": "AKP", "alg": "ML-DSA-44", "pub": "AAAA"},
        {"kty": ["RSA"]},
        {"kty": "rsa"},
        {},
        None,
        7,
        "key",
        ["RSA"],
    ],
)
def test_a_key_that_must_not_verify_is_left_out(key: Any) -> None:
    assert kept(key) == []


def test_the_private_half_of_a_published_key_is_not_taken_in() -> None:
    leaked = public_jwk("rsa", kid="k", d="AAAA", p="AAAA", q="AAAA", dp="AA", dq="AA", qi="AA")
    assert kept(leaked) == [("k", "RS256")]
    assert kept(public_jwk("ed", kid="k", d="AAAA")) == [("k", "EdDSA")]
    assert "AAAA" not in repr(key_set(public_jwk("ec", d="AAAA")).keys[0].material)


def test_every_key_of_a_set_is_looked_at_and_those_left_out_are_counted() -> None:
    many = [public_jwk("rsa", kid=f"k{index}") for index in range(300)]
    keys = key_set({"kty": "oct"}, *many, None)
    assert [keys.find(f"k{index}", "RS256") for index in range(300)] == list(keys.keys)
    assert str(keys) == "300 keys (and 2 that are of no use)"
    assert str(key_set(many[0])) == "1 key"


@pytest.mark.parametrize("document", [{}, {"keys": None}, {"keys": {}}, {"keys": "x"}, {"key": []}])
def test_what_has_no_array_of_keys_is_no_set(document: Any) -> None:
    with pytest.raises(ValueError, match="no array `keys`"):
        build_key_set(document)


@pytest.mark.parametrize("entries", [[], [{}], [None], [public_jwk("rsa", use="enc")]])
def test_a_set_of_no_usable_key_is_one_and_knows_no_token(entries: list[Any]) -> None:
    keys = key_set(*entries)
    assert keys.keys == ()
    assert keys.left_out == len(entries)
    assert keys.find("k", "RS256") is None
    assert keys.find(None, "RS256") is None


def test_a_token_without_kid_is_of_the_only_key() -> None:
    only = key_set(public_jwk("rsa", kid="k"), public_jwk("small"), public_jwk("rsa", use="enc"))
    found = only.find(None, "RS256")
    assert found is not None
    assert found.kid == "k"
    with pytest.raises(Unauthenticated):
        only.find(None, "PS256")


@pytest.mark.parametrize("other", ["rsa2", "ec", "ed"])
def test_a_token_without_kid_is_refused_where_there_are_several_keys(other: str) -> None:
    keys = key_set(public_jwk("rsa"), public_jwk(other, kid="k"))
    with pytest.raises(Unauthenticated) as caught:
        keys.find(None, "RS256")
    assert caught.value.reason == "the header has no kid and the issuer has several keys"


def test_a_key_listed_twice_is_one_key() -> None:
    twice = key_set(public_jwk("rsa", kid="k"), public_jwk("rsa", kid="k", alg="RS256"))
    assert len(twice.keys) == 1


def test_sets_are_equal_when_their_keys_are() -> None:
    first = key_set(public_jwk("rsa", kid="k", x5c=["AAAA"]))
    assert first == key_set(public_jwk("rsa", kid="k", alg="RS256", use="sig"))
    assert first != key_set(public_jwk("rsa2", kid="k"))
    assert first != key_set(public_jwk("rsa", kid="other"))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(
    st.sampled_from(["rsa", "ec", "ed"]),
    st.dictionaries(
        st.sampled_from(["kty", "crv", "alg", "use", "kid", "n", "e", "x", "y", "key_ops", "d"]),
        JSON,
        max_size=4,
    ),
)
def test_whatever_a_key_is_made_of_it_is_taken_or_left_out(
    name: str, changes: dict[str, Any]
) -> None:
    for kid, algorithm in kept(public_jwk(name, **changes)):
        assert kid is None or kid == changes["kid"]
        assert algorithm in {"RS256", "ES256", "EdDSA"} or algorithm == changes["alg"]


@pytest.mark.parametrize(
    ("key", "algorithm", "signed", "signature"),
    [
        (
            {
                "kty": "EC",
                "crv": "P-256",
                "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
                "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
            },
            "ES256",
            (
                "eyJhbGciOiJFUzI1NiJ9."
                "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFt"
                "cGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
            ),
            (
                "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSA"
                "pmWQxfKTUJqPP3-Kg6NU1Q"
            ),
        ),
        (
            {
                "kty": "OKP",
                "crv": "Ed25519",
                "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
            },
            "EdDSA",
            "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc",
            (
                "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5B"
                "hVsPt9g7sVvpAr_MuM0KAg"
            ),
        ),
    ],
    ids=["RFC 7515 A.3", "RFC 8037 A.4"],
)
def test_the_examples_of_the_standards_verify(
    key: dict[str, Any], algorithm: str, signed: str, signature: str
) -> None:
    found = key_set(key).find(None, algorithm)
    assert found is not None
    raw = urlsafe_b64decode(signature + "==")
    assert found.verify(signed.encode(), raw)
    assert not found.verify(signed.encode() + b"A", raw)
