"""The history of resources: each operation, change of state with its reason, and attempt.

All functions run inside the caller's transaction or session.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from twinframe.control.records.listing import Listed, Slice
from twinframe.control.records.states import ResourceState
from twinframe.control.resources.documents import (
    OPERATIONS,
    Attempt,
    Goal,
    Operation,
    OperationStatus,
    Resource,
    Transition,
)
from twinframe.storage.control import ControlSession, ControlTransaction, Order, equal

KEPT_ATTEMPTS: Final = 20
"""The number of attempts of one operation that are shown, the latest ones."""
KEPT_OPERATIONS: Final = 500
"""The number of operations of one resource that are kept, the latest ones."""
_LATEST: Final = Order("id", descending=True)


def open_operation(
    transaction: ControlTransaction,
    resource: Resource,
    *,
    before: ResourceState | None,
    goal: Goal,
    actor: str,
    reason: str,
    now: int,
) -> Operation:
    """Record an operation on a resource that has its new state already."""
    previous = _read_latest(transaction, resource.id)
    number = 1 if previous is None else int(previous.id.rpartition(".")[2]) + 1
    operation = Operation(
        # NOTE: with ten digits, ids of one resource are in the order of their numbers.
        id=f"{resource.id}.{resource.incarnation}.{number:010}",
        resource_id=resource.id,
        incarnation=resource.incarnation,
        type=goal,
        actor=actor,
        status=OperationStatus.PENDING,
        created_at=now,
        updated_at=now,
        transitions=(Transition(now, before, resource.status, reason),),
    )
    OPERATIONS.insert(transaction, operation)
    if number > KEPT_OPERATIONS:
        _forget_oldest(transaction, resource.id)
    return operation


def close_operation(
    transaction: ControlTransaction,
    operation_id: str,
    *,
    status: OperationStatus,
    now: int,
    transition: Transition | None = None,
    attempt: Attempt | None = None,
    note: str = "",
) -> None:
    """Record how an operation ended."""
    operation = OPERATIONS.read(transaction, operation_id)
    if operation is None:
        return
    transitions = operation.transitions + (() if transition is None else (transition,))
    operation = replace(
        _with_attempt(operation, attempt),
        status=status,
        updated_at=max(now, operation.updated_at),
        transitions=transitions,
        note=note or operation.note,
    )
    OPERATIONS.replace(transaction, operation)


def supersede(transaction: ControlTransaction, resource_id: str, now: int) -> None:
    """Record that another operation was requested before the latest one was done."""
    latest = _read_latest(transaction, resource_id)
    if latest is not None and latest.status is OperationStatus.PENDING:
        close_operation(transaction, latest.id, status=OperationStatus.SUPERSEDED, now=now)


def note_attempt(transaction: ControlTransaction, operation_id: str, attempt: Attempt) -> None:
    """Record an attempt that will be retried."""
    operation = OPERATIONS.read(transaction, operation_id)
    if operation is not None:
        moment = max(attempt.at, operation.updated_at)
        attempt = replace(attempt, at=moment)
        operation = replace(_with_attempt(operation, attempt), updated_at=moment)
        OPERATIONS.replace(transaction, operation)


def list_operations(session: ControlSession, resource_id: str, wanted: Slice) -> Listed[Operation]:
    """List the operations of a resource, the latest first."""
    return OPERATIONS.list_page(session, wanted, equal("resource", resource_id), order=_LATEST)


def forget_operations(transaction: ControlTransaction, resource_id: str) -> None:
    """Remove the history of a resource together with its tombstone."""
    for record in transaction.find(OPERATIONS.kind, [equal("resource", resource_id)]):
        OPERATIONS.delete(transaction, record.id)


def _read_latest(session: ControlSession, resource_id: str) -> Operation | None:
    return OPERATIONS.find_first(session, equal("resource", resource_id), order=_LATEST)


def _forget_oldest(transaction: ControlTransaction, resource_id: str) -> None:
    conditions = [equal("resource", resource_id)]
    surplus = transaction.count(OPERATIONS.kind, conditions) - KEPT_OPERATIONS
    if surplus > 0:
        for record in transaction.find(OPERATIONS.kind, conditions, limit=surplus):
            OPERATIONS.delete(transaction, record.id)


def _with_attempt(operation: Operation, attempt: Attempt | None) -> Operation:
    if attempt is None:
        return operation
    return replace(operation, attempts=(*operation.attempts, attempt)[-KEPT_ATTEMPTS:])
