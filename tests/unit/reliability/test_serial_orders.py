"""The checker of serial orders: what has one passes; each kind of anomaly is found."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reliability.registers import COUNT, MOVE, SWAP, TAKE, Request
from tests.reliability.serial_orders import UNANSWERED, Findings, Operation, State, check_order

FIRST = Operation("start", 0, 0, {}, {key: State(0, "start ", 10) for key in "ab"})


def check(*operations: Operation) -> Findings:
    return check_order([FIRST, *operations])


def read(tag: str, begun: float, **states: State) -> Operation:
    return Operation(tag, begun, begun + 0.5, states)


def write(
    tag: str, key: str, version: int, last: str, begun: float = 1, ended: float = 9
) -> Operation:
    before, after = State(version - 1, last, 10), State(version, f"{tag} {last}", 10)
    return Operation(tag, begun, ended, {key: before}, {key: after})


@settings(max_examples=50)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([COUNT, SWAP, MOVE, TAKE]),
            st.permutations(["a", "b"]),
            st.floats(0.1, 5),
            st.booleans(),
        ),
        max_size=15,
    )
)
def test_what_was_done_one_after_another_has_an_order(
    steps: list[tuple[str, list[str], float, bool]],
) -> None:
    states, operations = dict(FIRST.after), []
    for number, (text, (a, b), length, is_answered) in enumerate(steps):
        request = Request(text, f"o{number}", a, b, 5)
        saw = {key: state for key, state in states.items() if state and (key == a or text != COUNT)}
        wrote = request.find_written(saw)
        states.update(wrote)
        # They overlap: each was done at the moment of its number.
        begun, ended = number - length, number + length
        if is_answered:
            operations.append(Operation(request.tag, begun, ended, saw, wrote))
        else:
            operations.append(
                Operation(request.tag, begun, UNANSWERED, writes=request.writes if wrote else ())
            )
    end = Operation("end", 1000, 1001, states)
    found = check_order([FIRST, *operations, end])
    assert found.list_all() == []


def test_a_lost_update_is_found() -> None:
    one, other = write("x", "a", 1, "start "), write("y", "a", 1, "start ")
    assert check(one, other, read("end", 10, a=State(1, "y start ", 10))).doubled


def test_an_acknowledged_write_that_is_gone_is_found() -> None:
    assert check(write("x", "a", 1, "start "), read("end", 10, a=State(0, "start ", 10))).unordered
    later = Operation("y", 2, UNANSWERED, writes=("a",))
    found = check(write("x", "a", 1, "start "), later, read("end", 10, a=State(1, "y start ", 10)))
    assert found.lost


def test_a_write_skew_is_found() -> None:
    """Each reads what the other writes, and sees it as it was before."""
    a, b = State(0, "start ", 10), State(0, "start ", 10)
    one = Operation("x", 1, 9, {"a": a, "b": b}, {"a": State(1, "x start", 5)})
    other = Operation("y", 1, 9, {"a": a, "b": b}, {"b": State(1, "y start", 5)})
    end = read("end", 10, a=State(1, "x start", 5), b=State(1, "y start", 5))
    assert check(one, other, end).unordered


def test_a_read_of_what_was_over_before_it_began_is_found() -> None:
    old = read("r", 5, a=State(0, "start ", 10))
    end = read("end", 10, a=State(1, "x start ", 10))
    assert check(write("x", "a", 1, "start ", 1, 2), old, end).unordered
    assert not check(write("x", "a", 1, "start ", 1, 6), old, end).list_all()


def test_half_of_a_statement_is_found() -> None:
    lost = Operation("x", 1, UNANSWERED, writes=("a", "b"))
    states = {"a": State(1, "x start ", 10), "b": State(0, "start ", 10)}
    assert check(lost, read("end", 10, **states)).halved
    whole = check(lost, read("end", 10, a=State(1, "x start ", 10), b=State(1, "x start ", 10)))
    assert (whole.list_all(), whole.done_unanswered) == ([], 1)


def test_a_state_that_nobody_wrote_is_found() -> None:
    assert check(read("end", 10, a=State(0, "start ", 11))).wrong
    assert check(read("end", 10, a=State(1, "nobody start ", 10))).wrong


def test_two_that_were_merged_under_one_name_are_found() -> None:
    made = [Operation(tag, 1, 2, {"m": None}, {"m": State(0, f"{tag} ", tag)}) for tag in "xy"]
    assert check(*made).doubled
