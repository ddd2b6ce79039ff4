"""Linear baselines against scikit-learn, R's quantreg, closed forms and simulated truth.

The figures of R are in tests/paper/data, with the commands that gave them.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.optimize import minimize
from sklearn.linear_model import QuantileRegressor

from cqrf.data.outcome import Target, marginal_curves
from cqrf.paper.linear import (
    AdaptedLoss,
    DeBacker,
    PengHuang,
    Portnoy,
    QuantileRegression,
    censoring_curves,
    regression_quantile,
    solve_equation,
)

DATA = Path(__file__).parent / "data"
LEVELS = np.array([0.1, 0.3, 0.5, 0.7])
REPLICATIONS = 12
METHODS = [QuantileRegression, Portnoy, PengHuang, DeBacker]
CENTER, SCALE = np.array([2.0, 1.0, -0.5]), np.array([0.4, 0.3, 0.0])


def draw(seed, n):
    """Location and scale linear in X, C independent of both: a quarter censored."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 2.0, (n, 2))
    Z = design(X)
    T = Z @ CENTER + (Z @ SCALE) * rng.normal(size=n)
    C = rng.uniform(1.0, 7.0, n)
    return X, T, np.minimum(T, C), T <= C


def design(X):
    return np.column_stack([np.ones(len(X)), X])


def true_coefficients(levels):
    return CENTER + stats.norm.ppf(levels)[:, None] * SCALE


def read(name):
    return np.loadtxt(DATA / f"{name}.csv", delimiter=",", skiprows=1)


@pytest.fixture(scope="module")
def sample():
    rows = read("censored")
    return rows[:, :2], rows[:, 2], rows[:, 3] == 1


class TestOrdinary:
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("level", [0.07, 0.25, 0.5, 0.81])
    def test_agrees_with_scikit_learn(self, level, weighted):
        X, _, time, _ = draw(0, 200)
        weight = np.random.default_rng(1).exponential(size=200) if weighted else None
        peer = QuantileRegressor(quantile=level, alpha=0.0).fit(X, time, sample_weight=weight)
        ours = regression_quantile(design(X), time, level, weight)
        np.testing.assert_allclose(ours, [peer.intercept_, *peer.coef_], atol=1e-9)

    def test_weights_are_repetitions(self):
        X, _, time, _ = draw(1, 60)
        times = np.random.default_rng(2).integers(0, 4, 60)
        ours = regression_quantile(design(X), time, 0.43, times.astype(float))
        repeated = regression_quantile(design(np.repeat(X, times, 0)), np.repeat(time, times), 0.43)
        np.testing.assert_allclose(ours, repeated, atol=1e-9)

    def test_fit_and_predict(self):
        X, _, time, event = draw(2, 150)
        model = QuantileRegression()
        coefficients = model.fit(X, time, event, [0.6, 0.2])
        for level, row in zip([0.6, 0.2], coefficients, strict=True):
            peer = QuantileRegressor(quantile=level, alpha=0.0).fit(X, time)
            np.testing.assert_allclose(row, [peer.intercept_, *peer.coef_], atol=1e-9)
        np.testing.assert_allclose(model.predict(X), design(X) @ coefficients.T)
        assert model.identified_.all()

    def test_impossible_totals_have_no_solution(self):
        X, _, time, _ = draw(3, 30)
        Z = design(X)
        assert solve_equation(Z, time, np.ones(30), 1.1 * Z.sum(axis=0)) is None


class TestPortnoyAgainstR:
    def test_default_grid(self, sample):
        # R keeps more digits than the tests of a basis need: only rounding is left.
        theirs = read("crq_portnoy")
        grid = theirs[:, 0].copy()
        grid[0] = 1 / 80
        # At the level of the pivot the plane before it is optimal too.
        grid[1] += 1e-5
        beyond = grid[-1] + np.median(np.diff(grid))
        model = Portnoy([*grid, beyond])
        ours = model.fit(*sample, [*grid, beyond])
        np.testing.assert_allclose(ours[:-1], theirs[:, 1:], atol=1e-12)
        # The law is defective, and the grid ends where it does in R.
        np.testing.assert_array_equal(model.identified_, [True] * len(grid) + [False])

    def test_interpolated_coefficients(self, sample):
        theirs = read("crq_portnoy_coef")
        grid = read("crq_portnoy")[:, 0]
        grid[:2] = 1 / 80, grid[1] + 1e-5
        ours = Portnoy(grid).fit(*sample, theirs[:, 0])
        np.testing.assert_allclose(ours, theirs[:, 1:], atol=1e-12)

    def test_version_in_r(self, sample):
        # An interior-point method there, with a tolerance of 1e-6; its last two planes are void.
        theirs = read("crq_portnoy2")[:-2]
        model = Portnoy()
        grid = model._default_grid(80)
        ours = model.fit(*sample, grid)
        np.testing.assert_allclose(grid[1 : len(theirs)], theirs[1:, 0], atol=1e-12)
        np.testing.assert_allclose(ours[: len(theirs)], theirs[:, 1:], atol=1e-5)
        np.testing.assert_array_equal(np.flatnonzero(model.identified_), np.arange(len(theirs)))

    def test_fine_grid_approaches_pivoting(self, sample):
        # Planes are constant between pivots, about 1 / n apart. A grid misses a pivot by up to a
        # step, and differs there by a jump; elsewhere the planes are the same.
        pivots = read("crq_portnoy_pivot")
        levels = np.arange(0.05, 0.9, 0.01)
        exact = pivots[np.searchsorted(pivots[:, 0], levels, side="right") - 1, 1:]
        far = {}
        for step in (0.02, 0.002):
            ours = Portnoy(np.arange(1 / 160, 0.99, step)).fit(*sample, levels)
            far[step] = np.abs(ours - exact).max(axis=1)
        assert far[0.002].mean() < far[0.02].mean() / 5
        assert far[0.002].max() < 0.05
        assert (far[0.002] < 1e-9).mean() > 0.8

    def test_default_is_near_pivoting(self, sample):
        # Steps of 0.045, against pivots that move a coefficient by up to 0.2.
        theirs = read("crq_portnoy_pivot")
        exact = np.column_stack([np.interp(LEVELS, theirs[:, 0], c) for c in theirs[:, 1:].T])
        np.testing.assert_allclose(Portnoy().fit(*sample, LEVELS), exact, atol=0.15)


class TestPengHuangAgainstR:
    def test_every_step(self, sample):
        """Each of R's planes is the solution that its own earlier planes lead to."""
        X, time, event = sample
        Z, theirs = design(X), read("crq_penghuang")
        hazard = np.diff(-np.log1p(-0.01 * np.arange(len(theirs) + 1)))
        at_risk, expected = np.ones(80, dtype=bool), np.zeros(80)
        for increment, plane in zip(hazard, theirs[:, 1:], strict=True):
            expected[at_risk] += increment
            ours = solve_equation(Z, time, event.astype(float), (event - expected) @ Z)
            np.testing.assert_allclose(ours, plane, atol=1e-7)
            at_risk = time - Z @ plane >= 0.0

    def test_whole_path(self, sample):
        """R decides by rounding errors whether the p + 1 rows on a plane are at risk.

        Their hazard up to a level, H = -log(1 - level) each, is there or not: that shifts the level
        by at most (p + 1) / n * (1 - level) H <= (p + 1) / (e n) = 0.014, so by two steps of 0.01.
        Quantiles at the mean of X rise with the level and can be compared across levels.
        """
        X, time, event = sample
        theirs = read("crq_penghuang")[:75]
        grid = 0.01 * np.arange(1, 80)
        center = design(X).mean(axis=0)
        ours = PengHuang(grid).fit(X, time, event, grid)
        quantile, peer = ours @ center, theirs[:, 1:] @ center
        assert (np.diff(quantile) > -1e-9).all()
        k = np.arange(len(theirs))
        assert (quantile[np.maximum(k - 2, 0)] - 1e-7 <= peer).all()
        assert (peer <= quantile[k + 2] + 1e-7).all()
        # Half of the planes are the very same.
        assert (np.abs(ours[:75] - theirs[:, 1:]).max(axis=1) < 1e-6).mean() > 0.5
        np.testing.assert_allclose(ours[:75], theirs[:, 1:], atol=0.25)


@pytest.fixture(scope="module")
def groups():
    rng = np.random.default_rng(5)
    group = np.repeat([0.0, 1.0], [60, 90])
    T = rng.weibull(1.5, 150) * (1.0 + group)
    C = rng.uniform(0.2, 4.0, 150)
    return group, np.minimum(T, C), T <= C


class TestClosedForms:
    """With one feature that is 0 or 1, a plane is two numbers, one for each group."""

    @staticmethod
    def invert(group, time, event, levels, product):
        """Quantiles of the Kaplan-Meier (product) or the Nelson-Aalen curve of each group."""
        answers = []
        for value in (0.0, 1.0):
            y, d = time[group == value], event[group == value]
            order = np.argsort(y)
            hazard = d[order] / np.arange(len(y), 0, -1)
            curve = np.cumprod(1 - hazard) if product else np.exp(-np.cumsum(hazard))
            answers.append([y[order][np.argmax(curve <= 1 - level)] for level in levels])
        return np.array(answers).T

    @pytest.mark.parametrize(("method", "product"), [(Portnoy, True), (PengHuang, False)])
    def test_curves_of_each_group(self, groups, method, product):
        group, time, event = groups
        levels = np.arange(0.05, 0.75, 0.01)
        model = method(np.arange(0.001, 0.8, 0.001))
        model.fit(group[:, None], time, event, levels)
        quantiles = model.predict([[0.0], [1.0]]).T
        exact = self.invert(group, time, event, levels, product)
        # Where a jump of the curve lies within the grid's error of a level, its neighbour is found.
        assert (np.abs(quantiles - exact) < 1e-9).mean() > 0.9
        np.testing.assert_allclose(quantiles, exact, atol=0.15)

    def test_adapted_loss_solves_the_equation_of_the_forest(self, groups):
        group, time, event = groups
        model = DeBacker()
        model.fit(group[:, None], time, event, LEVELS)
        quantiles = model.predict([[0.0], [1.0]])
        times, (G,) = censoring_curves(time, event, np.ones((1, 150)))
        for value in (0, 1):
            y = time[group == value]
            for level, q in zip(LEVELS, quantiles[value], strict=True):
                near = np.array([-1e-6, 1e-6]) + q
                at = G[np.searchsorted(times, near, side="right") - 1]
                score = (1 - level) * at - (y > near[:, None]).mean(axis=1)
                assert score[0] <= 0.0 <= score[1]

    @pytest.mark.parametrize("method", [Portnoy, DeBacker])
    def test_nothing_censored_is_ordinary(self, method):
        X, T, _, _ = draw(7, 120)
        grid = np.arange(0.015, 1.0, 0.031)
        model = method(grid) if method is Portnoy else method()
        event = np.ones(120, dtype=bool)
        ours = model.fit(X, T, event, grid)
        np.testing.assert_allclose(ours, QuantileRegression().fit(X, T, event, grid), atol=1e-9)
        assert model.identified_.all()

    def test_nothing_censored_is_nearly_ordinary(self):
        # Nelson-Aalen in place of the empirical law, and sums at left end points: both shift the
        # level by less than 0.01 here.
        X, T, _, _ = draw(8, 200)
        event = np.ones(200, dtype=bool)
        center = design(X).mean(axis=0)
        levels = np.arange(0.05, 0.9, 0.05)
        ours = PengHuang(np.arange(0.002, 0.95, 0.002)).fit(X, T, event, levels) @ center
        low, high = (
            QuantileRegression().fit(X, T, event, levels + shift) @ center
            for shift in (-0.01, 0.01)
        )
        assert ((low <= ours) & (ours <= high)).all()


@pytest.fixture(scope="module")
def loss():
    X, _, time, event = draw(11, 300)
    return AdaptedLoss(design(X), time, event, np.ones((1, 300)))


class TestAdaptedLoss:
    def test_is_the_formula(self):
        X, _, time, event = draw(12, 25)
        Z, level, beta = design(X), 0.4, np.array([2.2, 1.3, -0.4])
        times, (G,) = censoring_curves(time, event, np.ones((1, 25)))
        total = 0.0
        for z, y in zip(Z, time, strict=True):
            q = z @ beta
            knots = [t for t in times if t < q]
            missing = quad(
                lambda s: 1 - G[np.searchsorted(times, s, side="right") - 1],
                times[0],
                max(q, times[0]),
                points=knots,
                limit=200,
            )[0]
            total += (y - q) * (level - (y < q)) - (1 - level) * missing
        ours = AdaptedLoss(Z, time, event, np.ones((1, 25)))(level, beta)
        np.testing.assert_allclose(ours, total, rtol=1e-6)

    def test_gradient_is_the_estimating_equation(self, loss):
        level, beta, step = 0.3, np.array([1.913, 0.877, -0.507]), 1e-7
        score = (1 - level) * loss.censoring(beta) - (loss.y > loss.Z @ beta)
        gradient = [
            (loss(level, beta + move) - loss(level, beta - move)) / (2 * step)
            for move in step * np.eye(3)
        ]
        np.testing.assert_allclose(gradient, score @ loss.Z, atol=1e-4)

    @pytest.mark.parametrize("level", LEVELS)
    def test_descent_falls_to_a_local_minimum(self, loss, level):
        start = regression_quantile(loss.Z, loss.y, level)
        values = [loss(level, loss.descend(level, start, steps)) for steps in (1, 2, 3, 100)]
        assert (np.diff([loss(level, start), *values]) <= 1e-9).all()
        end = loss.descend(level, start, 100)
        simplex = minimize(lambda b: loss(level, b), end, method="Nelder-Mead")
        assert simplex.fun > values[-1] - 1e-6

    @pytest.mark.parametrize("level", LEVELS)
    def test_other_starts_find_little_better(self, level):
        X, _, time, event = draw(13, 200)
        loss = AdaptedLoss(design(X), time, event, np.ones((1, 200)))
        ours = loss(level, DeBacker().fit(X, time, event, level)[0])
        rng = np.random.default_rng(0)
        others = [
            loss(level, loss.descend(level, true_coefficients([level])[0] + move, 100))
            for move in rng.normal(0.0, 0.5, (10, 3))
        ]
        assert ours < min(others) + 2e-3 * abs(min(others))

    def test_censoring_curve_is_kaplan_meier(self):
        rng = np.random.default_rng(14)
        time, event = rng.integers(1, 9, 50).astype(float), rng.random(50) < 0.6
        times, (G,) = censoring_curves(time, event, np.full((1, 50), 0.5))
        target = Target.from_outcome(time, event)
        np.testing.assert_allclose(times, target.times)
        np.testing.assert_allclose(G, marginal_curves(target)[1], atol=1e-12)

    def test_wide_kernel_is_no_kernel(self):
        X, _, time, event = draw(15, 80)
        wide = DeBacker(bandwidth=1e6).fit(X, time, event, LEVELS)
        np.testing.assert_allclose(wide, DeBacker().fit(X, time, event, LEVELS), atol=1e-6)

    def test_kernel_follows_censoring_that_depends_on_x(self):
        rng = np.random.default_rng(16)
        gap, near = [], []
        for _ in range(8):
            X = rng.uniform(0.0, 2.0, (400, 1))
            T = 2.0 + X[:, 0] + 0.5 * rng.normal(size=400)
            # Heavier where X is small.
            C = 1.0 + 2.5 * X[:, 0] + rng.exponential(1.5, 400)
            observed = X, np.minimum(T, C), T <= C, 0.5
            near.append(abs(DeBacker(bandwidth=0.3).fit(*observed)[0, 1] - 1.0))
            gap.append(abs(DeBacker().fit(*observed)[0, 1] - 1.0))
        assert np.mean(near) < np.mean(gap) / 2


@pytest.fixture(scope="module")
def errors():
    models = {
        "naive": QuantileRegression(),
        "Portnoy": Portnoy(),
        "PengHuang": PengHuang(np.arange(0.01, 0.75, 0.01)),
        "DeBacker": DeBacker(),
    }
    truth = true_coefficients(LEVELS)
    errors = {name: [] for name in models}
    for seed in range(100, 100 + REPLICATIONS):
        X, _, time, event = draw(seed, 500)
        for name, model in models.items():
            errors[name].append(model.fit(X, time, event, LEVELS) - truth)
            assert model.identified_.all()
    return {name: np.array(each) for name, each in errors.items()}


@pytest.mark.slow
class TestSimulation:
    """Errors of the coefficients over samples, in standard errors of their mean."""

    # Of a mean of zero, t with 11 degrees of freedom, one in 500 is this many away; twelve are
    # tested for each method.
    FEW = 4.0

    def in_standard_errors(self, errors):
        return errors.mean(axis=0) / (errors.std(axis=0, ddof=1) / np.sqrt(REPLICATIONS))

    @pytest.mark.parametrize("name", ["Portnoy", "PengHuang", "DeBacker"])
    def test_adapted_methods_find_the_truth(self, errors, name):
        assert np.abs(self.in_standard_errors(errors[name])).max() < self.FEW
        assert np.abs(errors[name].mean(axis=0)).max() < 0.08

    def test_ordinary_regression_does_not(self, errors):
        # The first slope is 0.2 to 0.4 too small at every level, 7 to 30 standard errors.
        assert (self.in_standard_errors(errors["naive"])[:, 1] < -self.FEW).all()
        assert (errors["naive"].mean(axis=0)[:, 1] < -0.15).all()


class TestShape:
    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("unit", [1e-7, 1e7])
    def test_units_do_not_matter(self, method, unit):
        X, _, time, event = draw(20, 80)
        plain = method().fit(X, time, event, LEVELS)
        moved = method().fit(3.0 + X / unit, unit * (time + 5.0), event, LEVELS)
        slopes = moved[:, 1:] / unit**2
        np.testing.assert_allclose(slopes, plain[:, 1:], atol=1e-5)
        intercepts = (moved[:, 0] + 3.0 * moved[:, 1:].sum(axis=1)) / unit - 5.0
        if unit < 1.0:
            np.testing.assert_allclose(intercepts, plain[:, 0], atol=1e-5)

    @pytest.mark.parametrize("method", METHODS)
    def test_levels_in_any_order(self, method):
        X, _, time, event = draw(21, 80)
        model = method()
        ascending = model.fit(X, time, event, LEVELS)
        assert ascending.shape == (4, 3)
        assert model.predict(X[:7]).shape == (7, 4)
        descending = method().fit(X, time, event, LEVELS[::-1])
        np.testing.assert_allclose(descending, ascending[::-1], atol=1e-12)
        alone = method().fit(X, time, event, 0.3)
        np.testing.assert_allclose(alone, ascending[1:2], atol=1e-12)

    @pytest.mark.parametrize("method", [Portnoy, PengHuang])
    def test_beyond_what_the_data_reach(self, sample, method):
        model = method()
        coefficients = model.fit(*sample, [0.5, 0.97, 0.99])
        np.testing.assert_array_equal(model.identified_, [True, False, False])
        np.testing.assert_array_equal(coefficients[1], coefficients[2])
        assert np.isfinite(coefficients).all()

    def test_flat_loss_is_not_identified(self):
        # Every group ends with censored rows at its top: G is zero from there on.
        X = np.repeat([0.0, 1.0], 30)[:, None]
        time = np.tile(np.arange(1.0, 31.0), 2)
        event = time <= 12.0
        model = DeBacker()
        model.fit(X, time, event, [0.2, 0.9])
        np.testing.assert_array_equal(model.identified_, [True, False])
        assert np.isfinite(model.predict(X)).all()


class TestBadInput:
    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"X": np.ones(80)}, r"X must have shape \(n, p\)"),
            ({"X": np.ones((80, 0))}, r"X must have shape \(n, p\)"),
            ({"X": np.full((80, 2), np.nan)}, "X must be finite; row 0"),
            ({"X": np.ones((80, 2))}, "rank 1, but 3 columns"),
            ({"X": np.random.default_rng(0).normal(size=(79, 2))}, "X has 79 rows, time has 80"),
            ({"time": np.full(80, np.inf)}, "time contains infinity"),
            ({"event": np.zeros(80, dtype=bool)}, "event is never True"),
            (
                {"time": pd.Series(np.arange(80.0)), "event": pd.Series(np.ones(80))[::-1]},
                "event and time have row labels in another order",
            ),
            ({"event": np.full(80, 2)}, "event must be True/False"),
            ({"quantiles": [0.5, 1.0]}, "strictly between 0 and 1"),
        ],
    )
    def test_fit(self, method, change, message):
        X, _, time, event = draw(30, 80)
        arguments = {"X": X, "time": time, "event": event, "quantiles": 0.5} | change
        with pytest.raises(ValueError, match=message):
            method().fit(**arguments)

    def test_text(self):
        with pytest.raises(TypeError, match="X must hold numbers"):
            Portnoy().fit([["a"]], [1.0], [True], 0.5)

    @pytest.mark.parametrize("method", [Portnoy, PengHuang])
    @pytest.mark.parametrize(
        ("grid", "message"),
        [([0.5, 0.2], "strictly ascending"), ([0.0, 0.5], "grid must lie strictly between")],
    )
    def test_grid(self, method, grid, message):
        X, _, time, event = draw(30, 80)
        with pytest.raises(ValueError, match=message):
            method(grid).fit(X, time, event, 0.5)

    @pytest.mark.parametrize("method", [Portnoy, PengHuang])
    def test_too_few_events(self, method):
        X = np.random.default_rng(0).normal(size=(40, 3))
        event = np.arange(40) == 20
        with pytest.raises(ValueError, match=r"do not reach .* too few events \(1\)"):
            method().fit(X, np.arange(40.0), event, 0.5)

    def test_bandwidth_and_steps(self):
        X, _, time, event = draw(30, 80)
        with pytest.raises(ValueError, match="bandwidth must be positive"):
            DeBacker(bandwidth=0.0).fit(X, time, event, 0.5)
        with pytest.raises(ValueError, match="max_iter must be at least 1"):
            DeBacker(max_iter=0).fit(X, time, event, 0.5)

    @pytest.mark.parametrize("method", METHODS)
    def test_predict(self, method):
        X, _, time, event = draw(30, 80)
        model = method()
        with pytest.raises(ValueError, match="is not fitted"):
            model.predict(X)
        model.fit(X, time, event, 0.5)
        with pytest.raises(ValueError, match="X has 1 columns, but 2 in fit"):
            model.predict(X[:, :1])
