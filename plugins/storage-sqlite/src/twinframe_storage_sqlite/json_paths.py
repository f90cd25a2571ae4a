"""Renders the JSON paths of members.

Expression indexes must be declared with the text rendered here to be used by compiled queries.
"""

from __future__ import annotations

import json
import re

from twinframe.query.sql import render_text

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def render_path(names: tuple[str, ...]) -> str:
    """The SQL literal of the JSON path to a nested member: `'$.a.b'`.

    SEC: a name that is not a plain ASCII word becomes a JSON string inside the path, so that dots,
    brackets, quotes, backslashes and control characters are taken literally.
    """
    steps = (
        name if _PLAIN.fullmatch(name) else json.dumps(name, ensure_ascii=False) for name in names
    )
    return render_text("$." + ".".join(steps))
