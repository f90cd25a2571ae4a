"""What a resource costs, against a model that counts hour by hour with exact fractions."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinframe.control.billing.charges import Line, build_lines, round_half_up
from twinframe.control.billing.months import Interval, Month
from twinframe.control.billing.prices import PriceBook, TypePrice
from twinframe.control.billing.spans import OPEN, Span, Step
from twinframe.control.billing.usage import Sample, Usage, build_measured
from twinframe.hooks.resource_types.prices import Meter, Price, Sku

HOUR = 3600
MONTH = Month(2024, 2)
BEGIN = MONTH.interval.begin
HOURS = MONTH.interval.seconds // HOUR

SKUS = (Sku.FREE, Sku.PRO, Sku.ENTERPRISE)
PRICES = tuple(
    Price(sku, meter, amount, per, included)
    for sku, amount in ((Sku.PRO, 977), (Sku.ENTERPRISE, 4_999))
    for meter, per, included in (
        (Meter.MONTH, 1, 0),
        (Meter.TWINS, 7, 3),
        (Meter.STORAGE_BYTES, 1_000, 10),
        (Meter.OPERATIONS, 100, 333),
        (Meter.QUERY_CHARGE, 9, 0),
    )
)
BOOK = PriceBook("1", 0, "EUR", tuple(TypePrice("T", each) for each in PRICES))


@dataclass(frozen=True)
class Story:
    """A resource's month in hours: when it began and ended, its skus, what was measured, who pays.

    `samples` is hour -> (twins, bytes, operations since the hour before, charge since).
    """

    steps: tuple[tuple[int, Sku], ...]
    ended: int | None
    samples: dict[int, tuple[int, int, int, int]]
    paid: tuple[tuple[int, int], ...]

    def build_span(self) -> Span:
        steps = tuple(Step(BEGIN + at * HOUR, sku) for at, sku in self.steps)
        ended = OPEN if self.ended is None else BEGIN + self.ended * HOUR
        return Span("r.1", "r", "1", "o", "p", "T", steps, ended)

    def build_samples(self) -> list[Sample]:
        operations = charge = 0
        found = []
        for hour, (twins, size, more, dearer) in sorted(self.samples.items()):
            operations, charge = operations + more, charge + dearer
            start = BEGIN + hour * HOUR
            usage = Usage(twins, operations, charge, size)
            found.append(Sample(start, HOUR, start + 17, usage))
        return found

    def build_paid(self) -> list[Interval]:
        return [Interval(BEGIN + a * HOUR, BEGIN + b * HOUR) for a, b in self.paid]

    def find_sku(self, hour: int) -> Sku | None:
        if hour < self.steps[0][0] or (self.ended is not None and hour >= self.ended):
            return None
        return [sku for at, sku in self.steps if at <= hour][-1]

    def is_paid(self, hour: int) -> bool:
        return any(a <= hour < b for a, b in self.paid)


@st.composite
def stories(draw: st.DrawFn) -> Story:
    at = sorted(draw(st.sets(st.integers(0, HOURS - 1), min_size=1, max_size=5)))
    steps = tuple((hour, draw(st.sampled_from(SKUS))) for hour in at)
    ended = draw(st.none() | st.integers(at[-1] + 1, HOURS + 5))
    figures = st.tuples(*[st.integers(0, 5_000)] * 4)
    samples = draw(st.dictionaries(st.integers(0, HOURS - 1), figures, max_size=30))
    cuts = sorted(draw(st.sets(st.integers(0, HOURS), max_size=4)))
    paid = tuple(zip(cuts[::2], cuts[1::2], strict=False))
    return Story(steps, ended, samples, paid if draw(st.booleans()) else ((0, HOURS),))


def _charge(story: Story, samples: list[Sample] | None = None, until: int = HOURS) -> list[Line]:
    measured = build_measured(story.build_samples() if samples is None else samples)
    paid = story.build_paid()
    return build_lines(story.build_span(), paid, measured, BOOK, MONTH, BEGIN + until * HOUR)


def _expect(story: Story, price: Price) -> int:
    """The amount of a line by the hour: exact, then rounded once."""
    hours = [
        hour for hour in range(HOURS) if story.find_sku(hour) is price.sku and story.is_paid(hour)
    ]
    share = Fraction(len(hours), HOURS)
    counted = [story.samples[hour] for hour in hours if hour in story.samples]
    at = {Meter.TWINS: 0, Meter.STORAGE_BYTES: 1, Meter.OPERATIONS: 2, Meter.QUERY_CHARGE: 3}
    if price.meter is Meter.MONTH:
        due = share - price.included * share
    elif price.meter in (Meter.TWINS, Meter.STORAGE_BYTES):
        mean = Fraction(sum(each[at[price.meter]] for each in counted), HOURS)
        due = mean - price.included * share
    else:
        included = price.included * share
        whole = -(-included.numerator // included.denominator)
        due = Fraction(sum(each[at[price.meter]] for each in counted) - whole)
    exact = Fraction(price.amount, price.per) * max(due, Fraction(0))
    return (2 * exact.numerator + exact.denominator) // (2 * exact.denominator)


@given(stories())
def test_every_line_is_what_counting_hour_by_hour_gives(story: Story) -> None:
    found = {(line.price.sku, line.price.meter): line.amount for line in _charge(story)}
    for price in PRICES:
        assert found.get((price.sku, price.meter), 0) == _expect(story, price)
    assert len(found) == len(_charge(story))


@given(stories(), st.data())
def test_splitting_a_sampling_interval_does_not_change_the_sum(
    story: Story, data: st.DataObject
) -> None:
    whole = story.build_samples()
    split = []
    for index, sample in enumerate(whole):
        cut = data.draw(st.integers(1, HOUR - 1))
        half = data.draw(st.integers(0, story.samples[sorted(story.samples)[index]][2]))
        usage = sample.usage
        first = Usage(usage.twins, usage.operations - half, usage.query_charge, usage.storage_bytes)
        split.append(Sample(sample.start, cut, sample.start, first))
        split.append(Sample(sample.start + cut, HOUR - cut, sample.start + cut, usage))
    assert _charge(story, split) == _charge(story, whole)


@given(stories(), st.randoms())
def test_the_order_of_samples_does_not_matter(story: Story, random: object) -> None:
    samples = story.build_samples()
    mixed = list(samples)
    random.shuffle(mixed)  # type: ignore[attr-defined]  # hypothesis's own random
    assert build_measured(mixed) == build_measured(samples)


@given(stories(), st.integers(1, HOURS - 1))
def test_what_two_accounts_pay_one_after_the_other_one_would_have_been_charged(
    story: Story, change: int
) -> None:
    def measure(paid: tuple[tuple[int, int], ...]) -> dict[tuple[Sku, Meter], tuple[int, int]]:
        lines = _charge(Story(story.steps, story.ended, story.samples, paid))
        return {(each.price.sku, each.price.meter): (each.seconds, each.quantity) for each in lines}

    whole = measure(((0, HOURS),))
    first, second = measure(((0, change),)), measure(((change, HOURS),))
    nothing = (0, 0)
    assert whole == {
        key: tuple(
            a + b for a, b in zip(first.get(key, nothing), second.get(key, nothing), strict=True)
        )
        for key in {*first, *second}
    }


@given(stories(), st.integers(0, HOURS))
def test_a_draft_charges_levels_for_the_time_that_has_passed_alone(story: Story, now: int) -> None:
    past = {hour: figures for hour, figures in story.samples.items() if hour < now}
    ended = min(story.ended or HOURS, now)
    for line in _charge(story, until=now):
        assert line.seconds <= ended * HOUR
        if line.price.meter is Meter.TWINS:
            assert line.quantity <= sum(each[0] for each in past.values()) * HOUR


@pytest.mark.parametrize(
    ("numerator", "denominator", "rounded"),
    [
        (0, 3, 0),
        (1, 2, 1),
        (1, 3, 0),
        (2, 3, 1),
        (5, 2, 3),
        (49, 100, 0),
        (10**30 + 1, 2, 5 * 10**29 + 1),
    ],
)
def test_a_half_is_rounded_up(numerator: int, denominator: int, rounded: int) -> None:
    assert round_half_up(numerator, denominator) == rounded


def test_a_base_fee_is_prorated_by_the_seconds_of_each_sku() -> None:
    story = Story(((0, Sku.PRO), (HOURS // 2, Sku.ENTERPRISE)), None, {}, ((0, HOURS),))
    fees = {
        line.price.sku: line.amount for line in _charge(story) if line.price.meter is Meter.MONTH
    }
    assert fees == {Sku.PRO: 489, Sku.ENTERPRISE: 2_500}  # 488.5 and 2499.5


def test_a_counter_that_began_at_zero_again_is_not_counted_backwards() -> None:
    readings = [(10, ""), (25, ""), (4, ""), (9, "")]
    samples = [
        Sample(BEGIN + at * HOUR, HOUR, BEGIN + at * HOUR, Usage(0, count, 0, 0, epoch))
        for at, (count, epoch) in enumerate(readings)
    ]
    assert [each.operations for each in build_measured(samples)] == [10, 15, 4, 5]


def test_a_new_epoch_shows_that_a_counter_began_again_though_it_is_higher_already() -> None:
    samples = [
        Sample(BEGIN + at * HOUR, HOUR, BEGIN + at * HOUR, Usage(0, count, 0, 0, epoch))
        for at, (count, epoch) in enumerate([(10, "a"), (30, "b")])
    ]
    assert [each.operations for each in build_measured(samples)] == [10, 30]


@pytest.mark.parametrize("figure", [-1, 1.0, True, "1"])
def test_a_meter_shows_integers_from_zero_alone(figure: object) -> None:
    with pytest.raises(ValueError, match="integer of at least 0"):
        Usage(figure, 0, 0, 0)  # type: ignore[arg-type]  # what is refused
