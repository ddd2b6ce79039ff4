"""The slow twins against the paper's formulas, hand-worked numbers and lifelines."""

import warnings

import numpy as np
import pytest
import twins
from lifelines import KaplanMeierFitter


def draw(seed, n=30, ties=False, censored=0.4):
    rng = np.random.default_rng(seed)
    time = rng.integers(1, 9, n).astype(float) if ties else rng.permutation(n) + rng.random(n)
    event = rng.random(n) >= censored
    event[rng.integers(n)] = True
    weights = rng.random(n) * (rng.random(n) < 0.8)
    weights[rng.integers(n)] += 0.1
    return time, event, weights


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_weight_after_is_survival_times_censoring(seed, ties):
    time, event, weights = draw(seed, ties=ties)
    times, d, c, R, S, G, P = twins.kaplan_meier(time, event, weights)
    np.testing.assert_allclose(S * G, P, rtol=0, atol=1e-12)
    np.testing.assert_allclose(R - d - c, P, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(times, np.unique(time[weights > 0]))
    assert R[0] == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_kaplan_meier_equals_lifelines(seed, ties):
    time, event, weights = draw(seed, ties=ties)
    # lifelines subtracts weights from those at risk as time goes on; with other fractions than
    # binary ones the rest is not zero at the last event, and it leaves that step out.
    weights = np.ceil(64 * weights) / 64
    used = weights > 0
    times, *_, S, _, _ = twins.kaplan_meier(time, event, weights)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # lifelines warns that weights are no counts
        peer = KaplanMeierFitter().fit(time[used], event[used], weights=weights[used])
    np.testing.assert_allclose(
        S, peer.survival_function_at_times(times).to_numpy(), rtol=0, atol=1e-10
    )


def test_events_come_before_censorings_at_a_tie():
    # One event and one censoring at t = 1, one event at 2: three are at risk of the event,
    # two of being censored.
    times, d, c, R, S, G, P = twins.kaplan_meier([1, 1, 2], [True, False, True], [1, 1, 1])
    np.testing.assert_allclose(times, [1, 2])
    np.testing.assert_allclose(d, [1 / 3, 1 / 3])
    np.testing.assert_allclose(c, [1 / 3, 0])
    np.testing.assert_allclose(R, [1, 1 / 3])
    np.testing.assert_allclose(S, [2 / 3, 0], atol=1e-15)
    np.testing.assert_allclose(G, [1 / 2, 1 / 2])
    np.testing.assert_allclose(P, [1 / 3, 0], atol=1e-15)


def beran_as_printed(q, time, event, w):
    """eq. Beran_rf, letter by letter."""
    G = 1.0
    for i in range(len(time)):
        if time[i] <= q and w[i] > 0:
            at_risk = sum(w[j] for j in range(len(time)) if time[j] >= time[i])
            G *= (1 - w[i] / at_risk) ** (1 - int(event[i]))
    return G


def knn_as_printed(q, time, event, neighbours):
    """eq. KM_kNN, letter by letter."""
    G = 1.0
    for i in neighbours:
        if time[i] <= q:
            at_risk = sum(1 for j in neighbours if time[j] >= time[i])
            G *= (1 - 1 / at_risk) ** (1 - int(event[i]))
    return G


@pytest.mark.parametrize("seed", range(5))
def test_curves_equal_the_printed_formulas_without_ties(seed):
    time, event, weights = draw(seed)
    w = weights / weights.sum()
    k = 7
    by_weight = sorted(range(len(w)), key=lambda i: (-w[i], i))[:k]
    beran = twins.censoring_curve_beran(time, event, weights)
    knn = twins.censoring_curve_knn(time, event, weights, k)
    marginal = twins.censoring_curve_marginal(time, event)
    for q in [time.min() - 1, *time, time.mean(), time.max() + 1]:
        printed = beran_as_printed(q, time, event, w)
        assert beran(q) == pytest.approx(printed, abs=1e-12)
        assert knn(q) == pytest.approx(knn_as_printed(q, time, event, by_weight), abs=1e-12)
        everyone = beran_as_printed(q, time, event, np.ones(len(w)))
        assert marginal(q) == pytest.approx(everyone, abs=1e-12)
        # eq. final_fop
        S_n = sum(w[i] * (0.7 * printed - (time[i] > q)) for i in range(len(w)))
        twin = twins.estimating_function(q, 0.3, time, event, weights)
        assert twin == pytest.approx(S_n, abs=1e-12)


def test_neighbours_are_the_largest_weights_and_the_lower_row_of_equals():
    assert list(twins.nearest([0.1, 0.3, 0.3, 0.0, 0.3], 2)) == [1, 2]
    assert list(twins.nearest([0.1, 0.3, 0.0, 0.0, 0.3], 5)) == [1, 4, 0]


def test_kernel_curve_forgets_x_as_the_bandwidth_grows_and_ignores_constant_columns():
    rng = np.random.default_rng(0)
    time, event, _ = draw(0)
    X = rng.normal(size=(len(time), 2))
    x = np.array([0.1, -0.2])
    wide = twins.censoring_curve_kernel(X, x, time, event, 1e6)
    marginal = twins.censoring_curve_marginal(time, event)
    narrow = twins.censoring_curve_kernel(X, x, time, event, 0.5)
    with_constant = twins.censoring_curve_kernel(
        np.c_[X, np.full(len(X), 3.0)], np.append(x, 4.0), time, event, 0.5
    )
    # The unit of a covariate is no information.
    rescaled = twins.censoring_curve_kernel(X * 8, x * 8, time, event, 0.5)
    for q in time:
        assert wide(q) == pytest.approx(marginal(q), abs=1e-9)
        assert with_constant(q) == narrow(q)
        assert rescaled(q) == pytest.approx(narrow(q), abs=1e-12)
    assert max(abs(narrow(q) - marginal(q)) for q in time) > 0.01
    z = (X - x) / X.std(axis=0)
    K = np.exp(-(z**2).sum(axis=1) / (2 * 0.5**2))
    assert narrow(time[3]) == pytest.approx(beran_as_printed(time[3], time, event, K), abs=1e-12)


def test_leaf_weights_by_hand():
    train = np.array([[0, 5], [0, 6], [1, 6], [1, 6]])
    test = np.array([[0, 6], [1, 5]])
    np.testing.assert_allclose(
        twins.leaf_weights(train, test),
        [[1 / 4, 1 / 4 + 1 / 6, 1 / 6, 1 / 6], [1 / 2, 0, 1 / 4, 1 / 4]],
    )
    # Whole-number weights are copies of the row.
    counts = [1, 3, 0, 2]
    copies = np.repeat(np.arange(4), counts)
    expected = np.zeros((2, 4))
    np.add.at(expected, (slice(None), copies), twins.leaf_weights(train[copies], test))
    np.testing.assert_allclose(twins.leaf_weights(train, test, counts), expected)


LEVELS = [0.05, 0.1, 0.25, 0.5, 0.6, 0.75, 0.9, 0.99]


@pytest.mark.parametrize("curve", ["beran", "marginal"])
@pytest.mark.parametrize("seed", range(5))
def test_without_censoring_lower_is_the_inverse_of_the_weighted_ecdf(seed, curve):
    time, _, weights = draw(seed, ties=True)
    event = np.ones(len(time), dtype=bool)
    w = weights / weights.sum()
    for tau in LEVELS:
        ecdf_inverse = min(t for t in time[w > 0] if w[time <= t].sum() >= tau - 1e-12)
        answer = twins.solve_quantile(time, event, weights, tau, curve, interpolation="lower")
        assert answer == ecdf_inverse


def test_interpolations_by_hand_without_censoring():
    # S is 3/4, 1/2, 1/4, 0 and the midpoints are 7/8, 5/8, 3/8, 1/8.
    time, event, weights = np.array([1.0, 2, 3, 4]), np.ones(4, dtype=bool), np.ones(4)

    def solve(tau, interpolation):
        return twins.solve_quantile(time, event, weights, tau, interpolation=interpolation)

    assert [solve(q, "lower") for q in (0.1, 0.25, 0.26, 0.5, 0.99)] == [1, 1, 2, 2, 4]
    midpoint = [solve(q, "midpoint") for q in (0.1, 0.25, 0.5, 0.875, 0.99)]
    assert midpoint == pytest.approx([1, 1.5, 2.5, 4, 4])
    linear = [solve(q, "linear") for q in (0.1, 0.25, 0.5, 0.875, 0.99)]
    assert linear == pytest.approx([1, 1, 2, 3.5, 3.96])


def test_interpolations_by_hand_with_censoring():
    # Rows 0.5+, 1, 2+, 3, 4+: S is 3/4 from 1 and 3/8 from 3; midpoints 7/8 and 9/16.
    time = np.array([0.5, 1, 2, 3, 4])
    event = np.array([False, True, False, True, False])

    def solve(tau, **options):
        return twins.solve_quantile(time, event, np.ones(5), tau, **options)

    assert [solve(q, interpolation="lower") for q in (0.25, 0.3, 0.625)] == [1, 3, 3]
    assert solve(0.3) == pytest.approx(1 + 2 * (7 / 8 - 0.7) / (5 / 16))
    assert solve(0.05) == 1
    assert solve(0.6) == 3
    assert solve(0.125, interpolation="linear") == pytest.approx(0.75)
    assert solve(0.3, interpolation="linear") == pytest.approx(1 + 2 * 0.05 / (3 / 8))
    assert solve(0.7) == 4
    assert np.isnan(solve(0.7, unreached="nan"))
    assert solve(0.7, unreached="inf") == np.inf


def test_argmin_is_the_first_minimum_over_the_allowed_candidates():
    for seed in range(5):
        time, event, weights = draw(seed)
        for tau in LEVELS:
            candidates = np.unique(time[weights > 0])
            candidates = candidates[candidates <= time[event & (weights > 0)].max()]
            loss = [
                abs(twins.estimating_function(q, tau, time, event, weights)) for q in candidates
            ]
            answer = twins.solve_quantile(time, event, weights, tau, solver="argmin")
            assert answer == candidates[int(np.argmin(loss))]


def test_argmin_without_an_event_is_the_largest_candidate():
    time, event = np.array([1.0, 2, 3]), np.array([False, False, True])
    weights = np.array([1, 1, 0])
    assert twins.solve_quantile(time, event, weights, 0.5, solver="argmin") == 2
    marked = twins.solve_quantile(time, event, weights, 0.5, solver="argmin", unreached="inf")
    assert marked == np.inf


@pytest.mark.parametrize("interpolation", ["lower", "midpoint", "linear"])
def test_all_neighbours_with_equal_weights_are_the_beran_curve(interpolation):
    # P / G is constant at censored times up to rounding, which must not become a jump.
    for seed in range(20):
        time, event, _ = draw(seed)
        weights = np.ones(len(time))
        for tau in LEVELS:
            options = {"interpolation": interpolation}
            beran = twins.solve_quantile(time, event, weights, tau, **options)
            knn = twins.solve_quantile(time, event, weights, tau, "knn", len(time), **options)
            marginal = twins.solve_quantile(time, event, weights, tau, "marginal", **options)
            assert knn == pytest.approx(beran, rel=1e-12)
            assert marginal == pytest.approx(beran, rel=1e-12)


def test_left_censoring_is_the_mirror_image():
    # One value below the detection limit 2, three seen: without the mirror the answer differs.
    time, event = np.array([2.0, 1.0, 3.0, 4.0]), np.array([False, True, True, True])
    # Of -T: -4, -3, -2+, -1 give S' = 3/4, 1/2, 1/2, 0.
    answer = twins.solve_quantile(
        time, event, np.ones(4), 0.5, interpolation="lower", censoring="left"
    )
    assert answer == 3
    survival = twins.survival_curve(time, event, np.ones(4), censoring="left")
    # P(T > 3) = P(-T < -3) = 1 - S'(-4); P(T > 1) = 1 - S'(-2).
    assert [survival(t) for t in (0.5, 1, 2, 3, 3.5, 4)] == pytest.approx(
        [1, 0.5, 0.5, 0.25, 0.25, 0]
    )


def test_left_censoring_marks_the_unreached_with_minus_infinity():
    time, event = np.array([1.0, 3, 4]), np.array([False, True, True])
    options = {"censoring": "left"}
    assert twins.solve_quantile(time, event, np.ones(3), 0.1, **options) == 1
    marked = twins.solve_quantile(time, event, np.ones(3), 0.1, unreached="inf", **options)
    assert marked == -np.inf


def test_conditional_quantiles_by_hand():
    time, event, weights = np.array([1.0, 2, 3, 4]), np.ones(4, dtype=bool), np.ones(4)

    def solve(s, interpolation, tau=0.5, **options):
        return twins.solve_quantile(
            time, event, weights, tau, interpolation=interpolation, conditional_after=s, **options
        )

    # Half of those alive at 2 (S = 1/2) are left where S = 1/4.
    assert solve(2.0, "lower") == 3
    # F(2.5) = 1/2 on the curve through the midpoints; S = 1/4 is reached half way from 3 to 4.
    assert solve(2.5, "midpoint") == pytest.approx(3.5)
    # F(2.5) = 3/8; 3/16 is reached a quarter of the way from 1/4 at 3 to 0 at 4.
    assert solve(2.5, "linear") == pytest.approx(3.25)
    for interpolation in ("lower", "midpoint", "linear"):
        before = twins.solve_quantile(time, event, weights, 0.5, interpolation=interpolation)
        assert solve(0.0, interpolation) == before
        # Nobody is left at 4.
        assert solve(4.5, interpolation) == 4.5
        assert np.isnan(solve(4.5, interpolation, unreached="nan"))
    # m_1 = 7/8 at 1 itself but everybody is alive before it.
    assert solve(0.999, "midpoint", 0.25) == pytest.approx(1.5)
    assert solve(1.0, "midpoint", 0.25) == pytest.approx(1 + (0.875 - 0.75 * 0.875) * 4)


def test_conditional_quantiles_under_left_censoring_by_hand():
    time, event, weights = np.array([1.0, 2, 3, 4]), np.ones(4, dtype=bool), np.ones(4)

    def solve(s, interpolation, **options):
        return twins.solve_quantile(
            time,
            event,
            weights,
            0.5,
            interpolation=interpolation,
            censoring="left",
            conditional_after=s,
            **options,
        )

    # Half of T > 2.5 lies above 3; the curve through the midpoints reaches 1/4 at 3.5.
    assert solve(2.5, "lower") == 4
    assert solve(2.5, "midpoint") == pytest.approx(3.5)
    assert solve(2.5, "linear") == pytest.approx(3.75)
    assert solve(4.5, "midpoint") == 4.5
    assert np.isnan(solve(4.5, "midpoint", unreached="nan"))
    assert solve(4.5, "midpoint", unreached="inf") == -np.inf


@pytest.mark.parametrize("seed", range(5))
def test_restricted_mean(seed):
    time, event, weights = draw(seed)
    survival = twins.survival_curve(time, event, weights)
    first = time[weights > 0].min()
    for horizon in (first - 1, first, time.mean(), time.max() + 3):
        grid = np.linspace(0, horizon, 200_001)
        middle = (grid[1:] + grid[:-1]) / 2
        area = survival(middle).mean() * horizon
        mean = twins.restricted_mean(time, event, weights, horizon)
        assert mean == pytest.approx(area, abs=1e-3)
    everyone = np.ones(len(time), dtype=bool)
    horizon = np.median(time)
    expected = np.average(np.minimum(time, horizon), weights=weights)
    mean = twins.restricted_mean(time, everyone, weights, horizon)
    assert mean == pytest.approx(expected, rel=1e-12)
