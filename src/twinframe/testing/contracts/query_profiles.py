"""Tests that PROFILE of a query on an engine counts what the evaluator counts."""

from __future__ import annotations

from typing import ClassVar

from twinframe.errors import QueryInvalid
from twinframe.query.algebra import Query
from twinframe.query.engine import CannotRun, QueryEngine
from twinframe.query.evaluate.limits import Limits
from twinframe.query.language import parse_query
from twinframe.query.plan.optimize import optimize
from twinframe.query.plan.profile import COUNTED_ALL, COUNTED_ONCE, Profile, Profiler, unshare
from twinframe.query.plan.split import split
from twinframe.query.render import render_query
from twinframe.storage.base import GraphSession
from twinframe.testing.query_corpora import CORPORA, PARAMETERS
from twinframe.testing.query_law import QueryLaw

_MOST_TEXTS = 60


class ProfiledQueries:
    """The rows of each operator of the corpora's queries, on the engine and in the evaluator."""

    unknown: ClassVar[float] = 0.0
    """The greatest share of operators whose rows the engine cannot tell."""

    def test_each_operator_has_the_rows_that_it_has_in_the_evaluator(
        self, query_law: QueryLaw
    ) -> None:
        """The first one has as many as there are answers."""
        compared, unknown = 0, 0
        for theme in CORPORA.values():
            for text in theme[:: 1 + len(theme) // _MOST_TEXTS]:
                found, expected = _profile_both(text, query_law)
                if found is None or expected is None:
                    continue
                assert found.rows == expected.rows, text
                for at, (rows, seconds, note) in found.figures.items():
                    compared, unknown = compared + 1, unknown + (rows is None)
                    assert (rows is None) == (seconds is None), text
                    if rows is None:
                        assert note, text
                    elif note not in (COUNTED_ALL, COUNTED_ONCE):
                        wanted = expected.figures[at].rows or 0
                        # NOTE: engines may make rows beyond a LIMIT, the evaluator does not.
                        is_more = "LIMIT" in text and not note and rows > wanted
                        assert rows == wanted or is_more, (text, at)
                assert found.figures.keys() == expected.figures.keys()
        assert compared > 2_000
        assert unknown <= self.unknown * compared


def _profile_both(text: str, law: QueryLaw) -> tuple[Profile | None, Profile | None]:
    """Return the profile on the engine, and by the evaluator for the same plan; None for none."""
    try:
        query = unshare(optimize(parse_query(text, parameters=PARAMETERS).query))
        expected = _profile(query, None, law.odd.reference)
        with law.odd.session.snapshot():
            found = _profile(query, law.engine, law.odd.session)
    except (CannotRun, QueryInvalid):
        return None, None
    # NOTE: some plans are changed to give more of them to the engine.
    changed = found.execution.query
    if render_query(changed) != render_query(query):
        expected = _profile(changed, None, law.odd.reference)
    return found, expected


def _profile(query: Query, engine: QueryEngine | None, session: GraphSession) -> Profile:
    execution = split(query, engine, PARAMETERS)
    return Profiler(engine, None).run(execution, session, PARAMETERS, Limits())
