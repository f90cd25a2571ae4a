"""Templates of topics: which topics a mapping is for, and what their named levels are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from twinframe.errors import InvalidArgument
from twinframe.hooks.sources.base import TopicForm

_NAMED: Final = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True, slots=True)
class TopicTemplate:
    """A template such as `buildings/{building}/rooms/{twin}/temperature`, level by level.

    `levels` are literal texts, and None where any text may stand. `names` are the positions of the
    named ones. `is_open` says that further levels may follow.
    """

    text: str
    form: TopicForm
    levels: tuple[str | None, ...]
    names: dict[str, int]
    is_open: bool

    @property
    def filter(self) -> str:
        """Render the filter that the broker is asked for."""
        levels = [self.form.one if level is None else level for level in self.levels]
        return self.form.separator.join([*levels, *([self.form.rest] if self.is_open else [])])

    def match(self, topic: str) -> dict[str, str] | None:
        """Return the named levels of a topic; None for a topic of another form."""
        levels = topic.split(self.form.separator)
        if len(levels) < len(self.levels) or (len(levels) > len(self.levels) and not self.is_open):
            return None
        for wanted, level in zip(self.levels, levels, strict=False):
            if wanted is not None and wanted != level:
                return None
        return {name: levels[position] for name, position in self.names.items()}


def parse_template(text: str, form: TopicForm) -> TopicTemplate:
    """Parse a template. Raises `InvalidArgument`."""
    if not text or not text.isprintable():
        raise InvalidArgument(f"The topic {text!a} must be a text that can be shown.")
    levels: list[str | None] = []
    names: dict[str, int] = {}
    parts = text.split(form.separator)
    is_open = bool(form.rest) and parts[-1] == form.rest
    for position, part in enumerate(parts[:-1] if is_open else parts):
        named = _NAMED.fullmatch(part)
        if named is not None:
            if named[1] in names:
                raise InvalidArgument(f"The topic {text!a} has two levels named {{{named[1]}}}.")
            names[named[1]] = position
        elif part != form.one or not part:
            _check_literal(text, part, form)
        levels.append(None if named is not None or (part and part == form.one) else part)
    return TopicTemplate(text, form, tuple(levels), names, is_open)


def _check_literal(text: str, part: str, form: TopicForm) -> None:
    special = {"{", "}", form.one, form.rest} - {""}
    found = next((one for one in sorted(special) if one in part), None)
    if found is not None:
        wild = [repr(one) for one in (form.one, form.rest) if one]
        more = f", {' or '.join(wild)} (at the end for {form.rest!r})" if wild else ""
        raise InvalidArgument(
            f"The topic {text!a} has {found!r} inside of the level {part!a}: a level is a text, a "
            f"name in braces such as {{twin}}{more}."
        )
