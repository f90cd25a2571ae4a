"""The class that the official Python driver raises for each error, as Neo4j would have it raise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager

import pytest
from neo4j.exceptions import (
    AuthError,
    ClientError,
    ConstraintError,
    CypherSyntaxError,
    CypherTypeError,
    DatabaseError,
    DatabaseUnavailable,
    Forbidden,
    Neo4jError,
    TransientError,
)

from tests.unit.bolt.world import BoltWorld
from twinframe import errors
from twinframe.bolt import failures
from twinframe.bolt.framing import Version
from twinframe.bolt.graphs import Database, OwnDatabase
from twinframe.errors import QueryInvalid, TwinframeError
from twinframe.query.engine import CannotRun
from twinframe.storage.memory import MemoryStore

CASES: tuple[tuple[TwinframeError, type[Neo4jError]], ...] = (
    (QueryInvalid("x", kind="SyntaxError"), CypherSyntaxError),
    (QueryInvalid("x", kind="TypeError"), CypherTypeError),
    (QueryInvalid("x", kind="SemanticError"), ClientError),
    (QueryInvalid("x", kind="SemanticError", detail="TransactionNotPossible"), DatabaseError),
    (QueryInvalid("x", kind="ArgumentError"), ClientError),
    (QueryInvalid("x", kind="ArithmeticError"), ClientError),
    (QueryInvalid("x", kind="ParameterMissing"), ClientError),
    (QueryInvalid("x", kind="ProcedureError"), ClientError),
    (QueryInvalid("x", kind="EntityNotFound"), ClientError),
    (QueryInvalid("x", kind="ConstraintVerificationFailed"), ConstraintError),
    (errors.ValidationFailed("x"), ConstraintError),
    (errors.InvalidRelationship("x"), ConstraintError),
    (errors.ModelDecommissioned("x"), ConstraintError),
    (errors.RelationshipsNotDeleted("x"), ConstraintError),
    (errors.PreconditionFailed("x"), ConstraintError),
    (errors.Conflict("x"), ConstraintError),
    (errors.PermissionMissing("query/write"), Forbidden),
    (errors.ScopeMissing(("a",)), Forbidden),
    (errors.Unauthenticated("x"), TransientError),  # credentials that no longer count
    (errors.GraphNotFound(), ClientError),
    (errors.TwinNotFound("a"), ClientError),
    (errors.QueryTimeout("x"), ClientError),
    (errors.LimitExceeded("x"), ClientError),
    (errors.QuotaExceeded("x", quota="twins", limit=1, used=1), ClientError),
    (errors.HistoryNotKept("x"), ClientError),
    (errors.InvalidArgument("x"), ClientError),
    (errors.Unsupported("x"), ClientError),
    (failures.ReadOnly(), ClientError),
    (failures.InvalidBookmark("x"), ClientError),
    (errors.RateExceeded("query", 1, 1), TransientError),
    (errors.MemoryExhausted("queries", "x"), TransientError),
    (errors.StorageBusy("x"), TransientError),
    (errors.TransactionOutdated(), TransientError),
    (failures.BookmarkTimeout("x"), TransientError),
    (errors.StorageError("x"), DatabaseUnavailable),
    (errors.StorageUnanswered("x"), DatabaseError),
    (errors.StorageFull("x"), DatabaseError),
    (errors.StorageDamaged("x"), DatabaseError),
)


@pytest.fixture(scope="module")
def world() -> Iterator[BoltWorld]:
    with BoltWorld(MemoryStore()) as world:
        yield world


class _Failing(AbstractAsyncContextManager[Database]):
    """Stands for a graph that cannot be opened."""

    def __init__(self, error: TwinframeError) -> None:
        self._error = error

    async def __aenter__(self) -> Database:
        raise self._error

    async def __aexit__(self, *_error: object) -> None:
        return None


@pytest.mark.parametrize(
    ("error", "kind"), CASES, ids=[f"{type(one).__name__} {kind.__name__}" for one, kind in CASES]
)
def test_the_driver_raises_the_class_that_neo4j_would(
    world: BoltWorld,
    monkeypatch: pytest.MonkeyPatch,
    error: TwinframeError,
    kind: type[Neo4jError],
) -> None:
    with world.connect() as driver, driver.session() as session:
        with monkeypatch.context() as patched:
            patched.setattr(OwnDatabase, "use", lambda *_: _Failing(error))
            with pytest.raises(Neo4jError) as caught:
                session.run("RETURN 1").consume()
        assert type(caught.value) is kind
        assert caught.value.is_retryable() == issubclass(kind, TransientError)
        assert error.public in str(caught.value.message)
        assert session.run("RETURN 1").single(strict=True)[0] == 1


def test_credentials_that_do_not_count_are_an_error_of_the_login() -> None:
    code = failures.find_code(errors.Unauthenticated("x"))
    given = failures.build_failure(code, "x", Version(5, 0))
    assert type(Neo4jError._hydrate_neo4j(**given)) is AuthError


@pytest.mark.parametrize("branch", [errors.InputError, errors.NotFound, errors.Conflict])
def test_no_error_of_the_caller_is_one_of_the_service(branch: type[TwinframeError]) -> None:
    found = [branch]
    for one in found:
        found += one.__subclasses__()
        if one in (QueryInvalid, errors.TransactionOutdated, errors.InvalidContinuationToken):
            continue
        code = failures.find_code(one.__new__(one))
        assert code.neo4j.startswith("Neo.ClientError."), one


def test_what_nobody_expected_is_an_error_of_the_service() -> None:
    assert failures.find_code(CannotRun("x")).neo4j == failures.UNEXPECTED.neo4j
