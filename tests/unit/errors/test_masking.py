"""Secrets in texts: what is taken out, what stays, and that no text costs much."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinframe.errors.masking import mask_path, mask_secrets

TOKEN = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJlX29mX2l0"
KEY = "tfk_0123456789abcdef_" + "0a" * 32


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://me:pw@host:8890/sparql", "http://***@host:8890/sparql"),
        ("http://me@host/", "http://***@host/"),
        ("http://:pw@host/", "http://***@host/"),
        ("nats://token@one:4222,nats://a:b@two:4222", "nats://***@one:4222,nats://***@two:4222"),
        ("amqp://me:p%40w@host", "amqp://***@host"),
        ("http://me:p/w?x#y@host/z", "http://***@host/z"),
        ("http://me:p@w@host/z", "http://***@host/z"),
        ("https://host/in?sig=abc&sv=1", "https://host/in?sig=***&sv=***"),
        ("https://host/in?a=b;c=d#access_token=x", "https://host/in?a=***;c=***#access_token=***"),
        ("QueryUrl=http://a:b@h/ answers 500.", "QueryUrl=http://***@h/ answers 500."),
        ('{"url":"https://h/?key=v","b":"c"}', '{"url":"https://h/?key=***","b":"c"}'),
        (f"Authorization: Bearer {TOKEN}", "Authorization: Bearer ***"),
        ("Authorization: Bearer opaque-token-1", "Authorization: Bearer ***"),
        (f"X-API-Key: {KEY}", "X-API-Key: tfk_***"),
        ("https://twins.example:8443/api?x", "https://twins.example:8443/api?x"),
        ("https://twins.example:8443/@scope/x", "https://twins.example:8443/@scope/x"),
        ("http://127.0.0.1:8080/a@b", "http://127.0.0.1:8080/a@b"),
        ("Bearer tokens of the issuer", "Bearer tokens of the issuer"),
        ("twin@house dtmi:com:e:Room;1 50 % a=b", "twin@house dtmi:com:e:Room;1 50 % a=b"),
        ("Bearer authentication is on", "Bearer authentication is on"),
    ],
)  # fmt: skip
def test_secrets_are_taken_out_and_the_rest_stays(text: str, shown: str) -> None:
    assert mask_secrets(text) == shown
    assert mask_secrets(shown) == shown


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (f"/digitaltwins/{TOKEN}", "/digitaltwins/***"),
        (f"/digitaltwins/{TOKEN}/components/a", "/digitaltwins/***/components/a"),
        (f"/{TOKEN.replace('.', '%2E')}/x", "/***/x"),
        (f"/{TOKEN.replace('.', '%2e').replace('eyJ', '%65yJ')}/x", "/***/x"),
        (f"/digitaltwins/{KEY}", "/digitaltwins/tfk_***"),
        ("/login;access_token=abc/x", "/login;access_token=***/x"),
        ("/models/sig%3Dabc%26a", "/models/sig=***&a"),
        ("/a/Bearer%20abcdefgh1jkl", "/a/Bearer%20***"),
        ("/digitaltwins/r%C3%B6om%2F1", "/digitaltwins/r%C3%B6om%2F1"),
        ("/digitaltwins/room-1/relationships/a=b", "/digitaltwins/room-1/relationships/a=b"),
        ("/models/dtmi:com:example:Room;1", "/models/dtmi:com:example:Room;1"),
    ],
)
def test_the_path_of_a_request_shows_no_token(path: str, shown: str) -> None:
    assert mask_path(path) == shown


@given(
    st.text("abc:/?#%&=;. ~", max_size=30),
    st.sampled_from([TOKEN, KEY, f"Bearer {TOKEN}"]),
    st.text("/?# &;.,", max_size=8),
)
def test_no_token_is_left_wherever_it_stands(before: str, secret: str, behind: str) -> None:
    hidden = secret.rpartition("_")[2][-20:]
    assert hidden not in mask_secrets(before + secret + behind)
    assert hidden not in mask_path(f"/{before}{secret}{behind}")


@given(st.text("ab/", max_size=6), st.text("pw0%!$", min_size=8, max_size=20))
def test_no_password_of_a_url_is_left(before: str, password: str) -> None:
    assert password not in mask_secrets(f"{before} http://me:{password}@host/x?y=z")


def test_a_text_of_many_beginnings_costs_what_its_length_does() -> None:
    for piece in ("://", "://a:", "?a", "eyJ", "://a?b=", "token", "Bearer ", "%65yJ"):
        assert mask_secrets(piece * 20_000) is not None
        assert mask_path("/" + piece * 20_000) is not None
