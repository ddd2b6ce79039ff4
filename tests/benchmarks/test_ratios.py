"""How times are taken and judged, with contenders that tell their own time."""

import math

import pytest
from speed.ratios import (
    Contender,
    Failed,
    Repeats,
    Timing,
    Verdict,
    fastest,
    ratios,
    round_robin,
    scaled,
    spread,
)

FIVE = Repeats(usual=5, slow=2, shortest=0.3)


class Clock:
    """Contenders that take given seconds, and a list of who was asked for how many calls."""

    def __init__(self, **seconds):
        self.seconds = seconds
        self.asked = []

    def contenders(self):
        return [Contender(name, 1, self._run(name)) for name in self.seconds]

    def _run(self, name):
        def run(calls):
            self.asked.append((name, calls))
            seconds = self.seconds[name]
            if seconds is None:
                raise Failed("no memory")
            answer = {"seconds": seconds, "call": seconds, "processor": seconds}
            return answer | {"peak_mb": 7.0 + len(self.asked)}

        return run


def test_contenders_take_turns_and_the_order_is_reversed():
    clock = Clock(a=1.0, b=2.0)
    round_robin(clock.contenders(), Repeats(usual=2, slow=2))
    assert [name for name, _ in clock.asked] == ["a", "b", "b", "a", "a", "b"]


def test_quick_calls_are_warmed_up_and_bundled():
    clock = Clock(a=0.1)
    (timing,) = round_robin(clock.contenders(), FIVE)
    assert clock.asked == [("a", 1)] + 5 * [("a", 3)]
    assert timing.repeats == [1, 2, 3, 4, 5]


def test_the_first_of_slow_calls_counts_and_they_are_repeated_less():
    clock = Clock(slow=30.0, quick=1.0)
    slow, quick = round_robin(clock.contenders(), FIVE)
    assert slow.repeats == [0, 1]
    assert quick.repeats == [1, 2, 3, 4, 5]
    assert ratios(slow, quick) == [30.0]


def test_memory_is_that_of_the_first_call():
    (timing,) = round_robin(Clock(a=1.0).contenders(), FIVE)
    assert timing.peak_mb == 8.0


def test_who_fails_is_not_asked_again_and_the_others_go_on():
    clock = Clock(a=None, b=1.0)
    failed, other = round_robin(clock.contenders(), FIVE)
    assert failed.failed == "no memory"
    assert not failed.seconds
    assert len(other.seconds) == 5
    assert [name for name, _ in clock.asked].count("a") == 1


def timing(seconds):
    return Timing("m", 2, list(seconds), list(seconds.values()))


def test_ratios_are_taken_within_a_repeat():
    assert ratios(timing({1: 2.0, 2: 9.0}), timing({1: 1.0, 2: 3.0, 3: 99.0})) == [2.0, 3.0]


def test_without_a_common_repeat_medians_are_compared():
    assert ratios(timing({0: 8.0}), timing({1: 1.0, 2: 2.0, 3: 100.0})) == [4.0]


def test_the_better_number_of_threads_counts_in_every_repeat():
    best = fastest([timing({1: 2.0, 2: 5.0, 3: 1.0}), timing({1: 3.0, 2: 4.0})])
    assert best.repeats == [1, 2]
    assert best.seconds == [2.0, 4.0]


def test_scaled_is_exact_for_a_fixed_cost_and_a_cost_per_tree():
    few, many = ({k: 3.0 + k + 0.5 * trees for k in (1, 2)} for trees in (2, 6))
    whole = scaled(timing(few), timing(many), (2, 6), 100)
    assert whole.seconds == pytest.approx([54.0, 55.0])


@pytest.mark.parametrize(
    ("values", "sign", "passed"),
    [
        ([0.9, 1.0, 5.0], ">=", True),
        ([1.0], ">", False),
        ([0.9, 1.1, 9.0], "<=", False),
        ([1.0], "<=", True),
        ([math.nan], ">=", False),
        ([math.nan], "<=", False),
        ([], "<=", False),
    ],
)
def test_the_median_is_judged(values, sign, passed):
    assert Verdict("", "", values, sign, 1.0).passed is passed


def test_spread_tells_median_and_range():
    assert spread([3.0, 1.0, 2.0], "{:.0f}") == "2 [1, 3]"
    assert spread([3.0], "{:.0f}") == "3"
