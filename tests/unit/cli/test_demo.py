"""What `twinframe demo --auth` tells of its access."""

from __future__ import annotations

from twinframe.cli.demo import Access, render_access

TOUR = {
    "TWINFRAME_TOKEN_ENDPOINT": "http://127.0.0.1:8082/oauth/token",
    "TWINFRAME_CLIENT_ID": "demo-1",
    "TWINFRAME_CLIENT_SECRET": "secret-1",
}


def test_a_token_to_paste_stands_on_a_line_of_its_own_and_others_can_be_got() -> None:
    answer = {"access_token": "a.b.c", "expires_in": 3600}
    lines = render_access(Access({}, TOUR), "http://127.0.0.1:8080", answer).splitlines()
    assert lines[0].endswith("where the explorer asks for it, for 60 minutes:")
    assert "a.b.c" in lines
    assert "  export TWINFRAME_CLIENT_ID=demo-1" in lines
    assert "  export TWINFRAME_CLIENT_SECRET=secret-1" in lines
    assert lines[-1].endswith(
        '--endpoint http://127.0.0.1:8082/oauth/token)" http://127.0.0.1:8080/models'
    )


def test_a_token_whose_end_nobody_tells_is_printed_without_one() -> None:
    text = render_access(Access({}, TOUR), "http://x", {"access_token": "a.b.c"})
    assert text.startswith("Callers need a token. Paste this one where the explorer asks for it:")
