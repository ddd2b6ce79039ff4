"""How far fits are scored: the rule against its twin, and where it is read."""

import warnings

import numpy as np
import pytest
import twins
from hypothesis import given, settings
from hypothesis import strategies as st

from cqrf import CensoredQuantileForest
from cqrf.data.outcome import Target
from cqrf.metrics import (
    censored_pinball_loss,
    concordance_index,
    concordance_index_ipcw,
    d2_censored_pinball_score,
    integrated_brier_score,
)
from cqrf.metrics.horizon import auto_horizon, read_horizon, representative_times

fast = settings(max_examples=100, deadline=None, derandomize=True)


def target(time, event, sample_weight=None, left=False):
    time, event = np.asarray(time, dtype=float), np.asarray(event, dtype=bool)
    return Target.from_outcome(time, event, sample_weight, "left" if left else "right")


@st.composite
def records(draw, weighted):
    """(time, event, sample weights) of 1 to 60 rows, with ties, some of them without any weight."""
    n = draw(st.integers(1, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    time = rng.integers(-9, draw(st.sampled_from([0, 40, 900])), n) / 4
    event = rng.random(n) < draw(st.sampled_from([0.1, 0.5, 0.9, 1.0]))
    event[rng.integers(n)] = True
    # One row may outweigh all others.
    s = rng.choice([0.0, 0.5, 1.0, 1.5, 60.0], n, p=[0.1, 0.3, 0.3, 0.28, 0.02])
    s[np.argmax(event)] = 1.0
    return time, event, s if weighted else None


class TestRule:
    @fast
    @given(st.data(), st.booleans(), st.booleans())
    def test_against_the_twin(self, data, weighted, left):
        time, event, s = data.draw(records(weighted))
        expected = twins.horizon(-time if left else time, event, s)
        found = auto_horizon(target(time, event, s, left))
        assert found == (-expected if left else expected)

    @fast
    @given(st.data())
    def test_unit_origin_and_order(self, data):
        time, event, s = data.draw(records(weighted=True))
        h = auto_horizon(target(time, event, s))
        assert auto_horizon(target(1024 * time, event, s)) == 1024 * h
        assert auto_horizon(target(time - 64, event, s)) == h - 64
        assert auto_horizon(target(time, event, 4 * s)) == h
        assert auto_horizon(target(time[::-1], event[::-1], s[::-1])) == h

    def test_nothing_censored(self):
        assert auto_horizon(target([1, 2, 9], [1, 1, 1])) == 9.0
        assert auto_horizon(target([1, 2, 9], [1, 1, 1], left=True)) == 1.0

    def test_ten_rows(self):
        # G is no less than 0.99 at all times.
        event = np.arange(100) != 50
        assert auto_horizon(target(np.arange(100), event)) == 90.0

    def test_a_twentieth_of_the_weight(self):
        event = np.arange(280) != 50
        assert auto_horizon(target(np.arange(280), event)) == 280 - 14
        # Of a weight of 3,880 in all, 80 and 6 times 19 are just a twentieth.
        s = np.where(np.arange(280) < 200, 19.0, 1.0)
        assert auto_horizon(target(np.arange(280), event, s)) == 194.0

    def test_a_quarter_of_few_rows(self):
        event = np.arange(20) != 10
        assert auto_horizon(target(np.arange(20), event)) == 15.0
        assert auto_horizon(target([0, 1, 2], [1, 0, 1])) == 2.0

    def test_one_in_ten_is_not_censored_before(self):
        # Of 1,000 rows 950 are censored one after the other: G(t-) is 0.1 at t = 900.
        time = np.r_[np.arange(950), np.full(50, 2000.0)]
        event = time == 2000.0
        h = auto_horizon(target(time, event))
        assert h == 899.0
        G = 1 - np.arange(951) / 1000
        assert G[int(h)] >= 0.1 > G[int(h) + 2]

    def test_one_end_of_study(self):
        # Of those that are censored at the end, G says nothing before it.
        time = np.minimum(np.arange(100.0), 60.0)
        assert auto_horizon(target(time, np.arange(100) < 60)) == 60.0


class TestReading:
    record = target([1.0, 2.0, 3.0, 4.0, 9.0], [1, 1, 1, 1, 0])

    def test_numbers(self):
        assert read_horizon("auto", self.record) == auto_horizon(self.record)
        for given_as in (2, 2.0, np.float32(2), np.int64(2)):
            assert read_horizon(given_as, self.record) == 2.0
        # A horizon before all times is taken as it is.
        assert read_horizon(-5.0, self.record) == -5.0

    def test_beyond_the_record(self):
        with pytest.warns(UserWarning, match=r"horizon=10\.0 lies beyond.*which end at 9\.0"):
            assert read_horizon(10.0, self.record) == 9.0
        mirrored = target([-1.0, -9.0], [1, 0], left=True)
        with pytest.warns(UserWarning, match=r"horizon=-10\.0 lies beyond.*which end at -9\.0"):
            assert read_horizon(-10.0, mirrored) == -9.0
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert read_horizon(10.0, mirrored) == 10.0

    @pytest.mark.parametrize(
        ("horizon", "error", "match"),
        [
            ("late", ValueError, "horizon.*late"),
            (np.nan, ValueError, "horizon must be finite"),
            (-np.inf, ValueError, "horizon must be finite"),
            (True, TypeError, "horizon.*True"),
            (None, TypeError, "horizon.*None"),
            ([1.0], TypeError, "horizon"),
        ],
    )
    def test_bad_values(self, horizon, error, match):
        with pytest.raises(error, match=match):
            read_horizon(horizon, self.record)


class TestRepresentatives:
    def test_few_rows_are_all_there(self):
        times, counts = representative_times(target([3, 1, 2, 2], [1, 1, 0, 1]), 2.5)
        np.testing.assert_array_equal(times, [1.0, 2.0, 2.5])
        np.testing.assert_array_equal(counts, [1.0, 2.0, 1.0])

    @pytest.mark.parametrize("weighted", [False, True])
    def test_many_rows(self, weighted):
        rng = np.random.default_rng(0)
        time, s = rng.gamma(2.0, 1.0, 5000), rng.uniform(0.5, 2.0, 5000) if weighted else None
        times, counts = representative_times(target(time, np.ones(5000), s), 4.0)
        assert len(times) <= 256
        assert (np.diff(times) > 0).all()
        assert counts.sum() == pytest.approx(5000)
        expected = np.average(np.minimum(time, 4.0), weights=s)
        assert times @ counts / 5000 == pytest.approx(expected, rel=1e-3)


class TestOfForests:
    def draw(self, n=200):
        rng = np.random.default_rng(0)
        X = rng.uniform(size=(n, 2))
        T, C = np.exp(2 * X[:, 0] + 0.4 * rng.normal(size=n)), rng.exponential(6.0, n)
        return X, np.minimum(T, C), T <= C

    @pytest.mark.parametrize("left", [False, True])
    def test_attribute(self, left):
        X, time, event = self.draw()
        sign = -1.0 if left else 1.0
        forest = CensoredQuantileForest(5, censoring="left" if left else "right", random_state=0)
        forest.fit(X, sign * time, event)
        assert isinstance(forest.horizon_, float)
        assert forest.horizon_ == sign * twins.horizon(time, event)
        forest.fit(X, sign * time)
        assert forest.horizon_ == sign * time.max()

    def test_of_a_loaded_forest(self, tmp_path):
        X, time, event = self.draw()
        forest = CensoredQuantileForest(5, random_state=0).fit(X, time, event)
        forest.save(tmp_path / "forest.cqrf")
        loaded = CensoredQuantileForest.load(tmp_path / "forest.cqrf")
        assert loaded.horizon_ == forest.horizon_
        assert loaded.oob_score() == forest.oob_score()

    def test_weights_count(self):
        X, time, event = self.draw()
        s = np.random.default_rng(1).uniform(0.1, 2.0, 200)
        forest = CensoredQuantileForest(5, random_state=0).fit(X, time, event, sample_weight=s)
        assert forest.horizon_ == twins.horizon(time, event, s)

    def test_scores_of_the_training_outcomes_share_it(self):
        _, time, event = self.draw()
        h = auto_horizon(target(time, event))
        assert h < time.max()
        predicted, curve = np.full(200, 2.0), np.full((200, 2), 0.5)
        for score, *arguments in (
            (censored_pinball_loss, predicted, 0.5),
            (d2_censored_pinball_score, predicted, 0.5),
            (concordance_index, time[::-1]),
            (concordance_index_ipcw, time[::-1]),
            (integrated_brier_score, curve, [0.5, h]),
        ):
            found = score(time, *arguments, event=event)
            assert found == score(time, *arguments, event=event, horizon=h)
            if score is not integrated_brier_score:
                assert found != score(time, *arguments, event=event, horizon=h / 2)
