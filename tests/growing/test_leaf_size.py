"""The size of the leaves: its out-of-bag path against forests grown from outside, and its use."""

import dataclasses
import math
import pickle

import numpy as np
import pytest
import twins
from scipy import sparse
from sklearn.base import clone

from cqrf import CensoredQuantileForest, _engine
from cqrf import forest as forest_module
from cqrf.data.outcome import Target, marginal_curves
from cqrf.datasets import make_aft
from cqrf.growing import grow as growing
from cqrf.growing import leaf_size

NAN = np.nan


def mixed_sample(seed=0, n=190, censoring_scale=8.0, ties=False):
    """Two numbers, one of them often missing, a small whole number and a category."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [
            rng.uniform(size=n),
            np.where(rng.random(n) < 0.3, NAN, rng.uniform(size=n)),
            rng.integers(0, 4, n),
            rng.integers(0, 6, n),
        ]
    )
    T = np.exp(X[:, 0] + np.nan_to_num(X[:, 1]) + 0.3 * (X[:, 3] % 2) + 0.3 * rng.normal(size=n))
    C = rng.exponential(censoring_scale, n)
    time = np.minimum(T, C)
    return X, np.ceil(4 * time) / 4 if ties else time, T <= C


def whole_weights(n=190):
    """Small whole numbers, which the engine represents exactly; some rows are left out."""
    return np.random.default_rng(5).integers(0, 5, n).astype(float)


def fit(X, time, event=None, sample_weight=None, **parameters):
    defaults = {"n_estimators": 2, "random_state": 0}
    return CensoredQuantileForest(**(defaults | parameters)).fit(
        X, time, event, sample_weight=sample_weight
    )


def fit_mixed(**parameters):
    return fit(*mixed_sample(), categorical_features=[3], **parameters)


def fit_aft(n, seed=0, n_features=1, **parameters):
    data = make_aft(n, n_features=n_features, random_state=seed)
    parameters = {"n_estimators": 1, "random_state": seed} | parameters
    return fit(data.X, data.time, data.event, **parameters)


def indicators(time, event, weight):
    """P(T > t_k | the data of the row) over sqrt(p_k (1 - p_k)), (n, 10).

    The t_k are the marginal quantiles of T of levels k / 11, and p_k = S(t_k).
    """
    t, *_, S, _, _ = twins.kaplan_meier(time, event, weight)
    survival = twins.step(t, S)
    columns = []
    for k in range(1, 11):
        reached = t[1 - k / 11 >= S]
        t_k = reached[0] if len(reached) else t[-1]
        p, at_own_time = survival(t_k), survival(time)
        later = np.divide(p, at_own_time, out=np.zeros(len(time)), where=at_own_time > 0)
        u = np.where(time > t_k, 1.0, np.where(event, 0.0, later))
        columns.append(u / math.sqrt(p * (1 - p)) if 0 < p < 1 else 0.0 * u)
    return np.column_stack(columns)


def out_of_bag_weights(forest):
    """Weights of all rows for every rank, (n, n_rows); no weights where every tree drew it."""
    target = forest.target_
    weights = _engine.Weights.out_of_bag(
        forest.trees_.engine,
        target.engine,
        forest.model_.bins,
        forest.trees_.seed,
        forest.model_.options.n_draws,
        forest.model_.options.replace,
    )
    indptr, indices, values = weights.matrix(1, 64)
    return sparse.csr_array((values, indices, indptr), shape=(target.n, target.n_rows)).toarray()


def slow_losses(X, time, event, sample_weight, size, **parameters):
    """The loss of every rank for nodes split from `size` growing rows on; NaN if always drawn."""
    weight = np.ones(len(time)) if sample_weight is None else sample_weight
    forest = fit(
        X,
        time,
        event,
        sample_weight,
        min_samples_split=size,
        **(parameters | {"n_estimators": leaf_size.N_TREES}),
    )
    mirrored = parameters.get("censoring") == "left"
    U = indicators(-time if mirrored else time, event, weight)
    W = out_of_bag_weights(forest)
    losses = ((W @ U - U[forest.target_.order]) ** 2).sum(axis=1)
    return np.where(W.sum(axis=1) > 0, losses, NAN), weight[forest.target_.order]


def average_neighbours(losses):
    """Losses (n, s) averaged over five sizes with weights 1, 4, 6, 4, 1, the end ones repeated."""
    last = losses.shape[1] - 1
    averaged = np.zeros_like(losses)
    for at in range(last + 1):
        for step, weight in zip(range(-2, 3), (1, 4, 6, 4, 1), strict=True):
            averaged[:, at] += weight / 16 * losses[:, min(max(at + step, 0), last)]
    return averaged


def assert_path_is_slow(X, time, event=None, sample_weight=None, ranks=None, **parameters):
    forest = fit(X, time, event, sample_weight, **parameters)
    path, target = forest.leaf_size_path_, forest.target_
    event = np.ones(len(time), dtype=bool) if event is None else event
    n_draws = drawn = forest.model_.options.n_draws
    if not parameters.get("bootstrap"):
        drawn = min(n_draws, math.ceil(0.632 * target.n))
    grid = list(leaf_size._grid(drawn))
    np.testing.assert_array_equal(path.size, np.rint(np.array(grid) * n_draws / drawn))
    drawn_so = parameters | {"max_samples": drawn}
    by_size, weights = zip(
        *(slow_losses(X, time, event, sample_weight, size, **drawn_so) for size in grid),
        strict=True,
    )
    losses, weight = average_neighbours(np.column_stack(by_size)), weights[0]
    if ranks is not None:
        losses, weight = losses[ranks], weight[ranks]
    known = ~np.isnan(losses[:, 0])
    share = weight[known] / weight[known].sum()
    mean = share @ losses[known]
    np.testing.assert_allclose(path.loss, mean, rtol=0, atol=1e-9)
    error = np.sqrt(share**2 @ (losses[known] - mean) ** 2)
    np.testing.assert_allclose(path.std_error, error, rtol=0, atol=1e-9)
    return path


OPTIONS = [
    {},
    {"bootstrap": True},
    {"max_samples": 70},
    {"bootstrap": True, "max_samples": 70},
    {"criterion": "mse"},
    {"criterion": "random", "max_features": 1},
    {"criterion": "quantile"},
    {"criterion": "logrank"},
    {"criterion": "mse", "bootstrap": True},
    {"censoring": "left"},
    {"max_depth": 3},
    {"random_state": 9},
    {"max_samples": None},
]


class TestAgainstForests:
    """Every size of the path is a forest of that size, asked out-of-bag."""

    @pytest.mark.parametrize("options", OPTIONS, ids=str)
    def test_options(self, options):
        path = assert_path_is_slow(*mixed_sample(), categorical_features=[3], **options)
        assert len(path.size) > 5
        # The sizes are not all alike.
        assert np.ptp(path.loss) > 0.01

    @pytest.mark.parametrize("options", OPTIONS, ids=str)
    def test_sample_weights_and_ties(self, options):
        X, time, event = mixed_sample(seed=1, ties=True)
        weight = whole_weights()
        assert (weight == 0).any()
        path = assert_path_is_slow(X, time, event, weight, categorical_features=[3], **options)
        unweighted = fit(X, time, event, categorical_features=[3], **options).leaf_size_path_
        assert not np.allclose(path.loss[:5], unweighted.loss[:5], atol=1e-3)

    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("ties", [False, True])
    def test_heavy_censoring(self, ties, weighted):
        X, time, event = mixed_sample(seed=2, censoring_scale=0.8, ties=ties)
        assert 0.05 < event.mean() < 0.25
        assert_path_is_slow(X, time, event, whole_weights() if weighted else None)

    def test_nothing_censored(self):
        X, time, _ = mixed_sample(seed=3)
        assert_path_is_slow(X, time)

    def test_no_features_missing_or_categorical(self):
        data = make_aft(150, n_features=5, random_state=4)
        assert_path_is_slow(data.X, data.time, data.event)

    @pytest.mark.parametrize("options", [{}, {"bootstrap": True}], ids=str)
    def test_honest_trees_nearly_agree(self, monkeypatch, options):
        monkeypatch.setattr(leaf_size, "_NEIGHBOURS", np.ones(1))
        # Pruning hands the rows of an empty side on to the other one, which then counts more
        # growing rows than it was grown from: at sizes between, some nodes are split once more.
        X, time, event = mixed_sample(seed=6)
        path = fit(X, time, event, honest=True, **options).leaf_size_path_
        n_draws = 190 if options else 121
        slow = np.array(
            [
                np.mean(
                    slow_losses(
                        X, time, event, None, size, max_samples=n_draws, honest=True, **options
                    )[0]
                )
                for size in leaf_size._grid(n_draws)
            ]
        )
        np.testing.assert_allclose(path.loss, slow, rtol=0, atol=np.ptp(slow) / 20)
        assert path.loss[0] == pytest.approx(slow[0], abs=1e-9)
        np.testing.assert_allclose(path.loss[-4:], slow[-4:], rtol=0, atol=1e-9)

    @pytest.mark.parametrize("weighted", [False, True])
    def test_rows_that_every_tree_has_drawn(self, monkeypatch, weighted):
        monkeypatch.setattr(leaf_size, "N_TREES", 3)
        X, time, event = mixed_sample(seed=4)
        sample_weight = whole_weights() if weighted else None
        losses, _ = slow_losses(X, time, event, sample_weight, 9, max_samples=100)
        assert 0 < np.isnan(losses).sum() < len(losses) / 2
        assert_path_is_slow(X, time, event, sample_weight, max_samples=100)

    @pytest.mark.parametrize("weighted", [False, True])
    def test_some_rows_stand_for_all(self, monkeypatch, weighted):
        monkeypatch.setattr(leaf_size, "_MAX_SCORED", 40)
        X, time, event = mixed_sample(seed=5)
        sample_weight = whole_weights() if weighted else None
        n = np.count_nonzero(sample_weight) if weighted else len(time)
        ranks = leaf_size._spread(n, 40)
        assert_path_is_slow(X, time, event, sample_weight, ranks=ranks)


class TestThreads:
    @pytest.mark.parametrize(
        "options", [{}, {"bootstrap": True}, {"honest": True}, {"criterion": "mse"}], ids=str
    )
    def test_their_number_does_not_matter(self, options):
        X, time, event = mixed_sample(n=700)
        paths = [
            fit(X, time, event, whole_weights(700), n_jobs=n_jobs, **options).leaf_size_path_
            for n_jobs in (1, 2, 3, 8)
        ]
        for path in paths[1:]:
            assert_same_path(path, paths[0])

    def test_nor_do_the_batches(self, monkeypatch):
        expected = fit_mixed().leaf_size_path_
        for batch in (1, 5, 100):
            monkeypatch.setattr(growing, "_next_batch", lambda *_, batch=batch: batch)
            assert_same_path(fit_mixed().leaf_size_path_, expected)


def assert_same_path(one, other):
    for field in dataclasses.fields(one):
        first, second = getattr(one, field.name), getattr(other, field.name)
        assert first.dtype == second.dtype
        np.testing.assert_array_equal(first, second)


class TestSizesThatAreUsed:
    @pytest.mark.parametrize(
        ("given", "split", "leaf"),
        [
            ({"min_samples_split": 7}, 7, 1),
            ({"min_samples_split": 0.1}, 19, 1),
            ({"min_samples_leaf": 4}, 2, 4),
            ({"min_samples_split": 30, "min_samples_leaf": 4}, 30, 4),
        ],
        ids=str,
    )
    def test_given(self, monkeypatch, given, split, leaf):
        monkeypatch.setattr(forest_module, "choose_leaf_size", None)
        forest = fit_mixed(**given)
        assert forest.leaf_size_path_ is None
        assert (forest.min_samples_split_, forest.min_samples_leaf_) == (split, leaf)

    @pytest.mark.parametrize("n", [1, 2, 33, 63])
    def test_few_rows(self, n):
        X, time, _ = mixed_sample(n=n)
        forest = fit(X, time)
        assert forest.leaf_size_path_ is None
        assert (forest.min_samples_split_, forest.min_samples_leaf_) == (32, 1)

    def test_rows_without_weight_are_no_rows(self):
        X, time, event = mixed_sample(n=100)
        weight = np.ones(100)
        weight[63:] = 0
        assert fit(X, time, event, weight).leaf_size_path_ is None
        weight[63] = 1
        assert fit(X, time, event, weight).leaf_size_path_ is not None

    @pytest.mark.parametrize("n", [64, 65, 190])
    def test_chosen(self, n):
        X, time, event = mixed_sample(n=n)
        forest = fit(X, time, event)
        path = forest.leaf_size_path_
        assert forest.min_samples_split_ == path.best == path.size[np.argmin(path.loss)]
        assert type(path.best) is int
        assert forest.min_samples_leaf_ == 1
        # Nothing but the size is taken from the path.
        given = fit(X, time, event, min_samples_split=path.best)
        np.testing.assert_array_equal(forest.trees_.nodes, given.trees_.nodes)
        np.testing.assert_array_equal(forest.trees_.ranks(), given.trees_.ranks())

    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"bootstrap": True},
            {"honest": True},
            {"honest": True, "bootstrap": True},
            {"max_samples": 0.1},
            {"max_samples": 1},
            {"max_samples": 1, "honest": True},
        ],
        ids=str,
    )
    def test_form_of_the_path(self, options):
        path = fit_mixed(**options).leaf_size_path_
        assert path.size.dtype == np.int64
        assert path.loss.dtype == path.std_error.dtype == np.float64
        assert path.size.shape == path.loss.shape == path.std_error.shape
        assert (np.diff(path.size) > 0).all()
        assert path.size[0] >= 2
        assert np.isfinite(path.loss).all()
        assert (path.loss > 0).all()
        assert (path.std_error > 0).all()

    @pytest.mark.parametrize("n_draws", [1, 2, 3, 4, 63, 64, 1000, 10**5, 10**7])
    def test_grid(self, n_draws):
        sizes = np.array(list(leaf_size._grid(n_draws)))
        assert sizes[-1] == n_draws + 1
        assert (np.diff(sizes) > 0).all()
        # Fine enough not to pass over the best size, coarse enough to be short.
        assert (sizes[1:] <= 1.7 * sizes[:-1]).all()
        assert len(sizes) < 60

    @pytest.mark.parametrize(("n", "count"), [(1, 1), (7, 7), (7, 3), (1000, 999), (10**6, 8)])
    def test_spread(self, n, count):
        chosen = leaf_size._spread(n, count)
        assert len(chosen) == count
        assert chosen[0] >= 0
        assert chosen[-1] < n
        assert (np.diff(chosen) >= n // count).all()

    def test_the_last_size_is_the_root(self):
        forest = fit_mixed()
        root = fit_mixed(min_samples_split=int(forest.leaf_size_path_.size[-1]))
        assert (np.diff(root.trees_.node_offset) == 1).all()

    def test_a_constant_time(self):
        forest = fit(mixed_sample()[0], np.ones(190))
        np.testing.assert_array_equal(forest.leaf_size_path_.loss, 0.0)
        np.testing.assert_array_equal(forest.predict(mixed_sample()[0]), 1.0)

    def test_progress_is_shown(self, capsys):
        fit_mixed(verbose=1)
        assert "choosing the leaf size" in "".join(capsys.readouterr())
        fit_mixed()
        assert "".join(capsys.readouterr()) == ""


class TestWarmStart:
    @pytest.mark.parametrize("options", [{}, {"bootstrap": True}], ids=str)
    def test_grows_on_with_the_same_size(self, options, monkeypatch):
        at_once = fit_mixed(n_estimators=7, **options)
        forest = fit_mixed(n_estimators=3, warm_start=True, **options)
        path = forest.leaf_size_path_
        # Not chosen once more.
        monkeypatch.setattr(forest_module, "choose_leaf_size", None)
        X, time, event = mixed_sample()
        forest.set_params(n_estimators=7).fit(X, time, event)
        assert forest.leaf_size_path_ is path
        assert forest.min_samples_split_ == at_once.min_samples_split_
        assert_same_path(path, at_once.leaf_size_path_)
        for field in dataclasses.fields(forest.trees_):
            np.testing.assert_array_equal(
                getattr(forest.trees_, field.name), getattr(at_once.trees_, field.name)
            )
        np.testing.assert_array_equal(forest.predict(X), at_once.predict(X))

    def test_whatever_the_second_seed(self):
        X, time, event = mixed_sample()
        forest = fit_mixed(n_estimators=3, warm_start=True)
        forest.set_params(n_estimators=7, random_state=1).fit(X, time, event)
        np.testing.assert_array_equal(
            forest.trees_.ranks(), fit_mixed(n_estimators=7).trees_.ranks()
        )

    def test_few_rows(self):
        X, time, event = mixed_sample(n=50)
        forest = fit(X, time, event, warm_start=True)
        forest.set_params(n_estimators=5).fit(X, time, event)
        assert forest.leaf_size_path_ is None
        assert forest.min_samples_split_ == 32

    def test_a_new_fit_chooses_anew(self):
        forest = fit_mixed()
        path = forest.leaf_size_path_
        X, time, event = mixed_sample(seed=6, n=300)
        forest.fit(X, time, event)
        assert forest.leaf_size_path_ is not path
        assert_same_path(
            forest.leaf_size_path_, fit(X, time, event, categorical_features=[3]).leaf_size_path_
        )


class TestChoice:
    def test_a_lucky_size_is_not_chosen(self):
        # Alone the second would win; its neighbours are poor, those of the sixth are good.
        losses = np.array([[9.0, 5.0, 9.0, 8.0, 6.0, 5.2, 5.6, 7.0, 9.0, 9.0]])
        averaged = leaf_size._averaged(losses)
        assert losses[0].argmin() == 1
        assert averaged[0].argmin() == 5
        np.testing.assert_allclose(averaged, average_neighbours(losses), rtol=0, atol=1e-14)

    @pytest.mark.parametrize("losses", [np.arange(8.0), np.arange(8.0)[::-1], np.full(8, 3.0)])
    def test_averages_keep_the_order_of_sizes(self, losses):
        averaged = leaf_size._averaged(losses[None])[0]
        np.testing.assert_array_equal(np.sign(np.diff(averaged)), np.sign(np.diff(losses)))

    @pytest.mark.parametrize("n_sizes", [1, 2, 3])
    def test_fewer_sizes_than_neighbours(self, n_sizes):
        losses = np.random.default_rng(0).uniform(size=(4, n_sizes))
        np.testing.assert_allclose(
            leaf_size._averaged(losses), average_neighbours(losses), rtol=0, atol=1e-14
        )

    def test_noise_needs_large_leaves(self):
        chosen = []
        for seed in range(9):
            rng = np.random.default_rng(seed)
            X, time, event = rng.uniform(size=(500, 3)), rng.exponential(size=500), None
            if seed % 2:
                event = rng.random(500) < 0.6
            chosen.append(fit(X, time, event, random_state=seed).min_samples_split_)
        assert np.median(chosen) > 250
        assert min(chosen) > 75

    @pytest.mark.parametrize("f", [np.exp, lambda x: np.sin(5 * x) + x])
    def test_a_function_without_noise_needs_small_ones(self, f):
        for seed in range(3):
            X = np.random.default_rng(seed).uniform(size=(500, 1))
            assert fit(X, f(X[:, 0]), random_state=seed).min_samples_split_ < 10

    def test_more_features_that_matter_need_smaller_leaves(self):
        # Neighbours in one dimension are neighbours; in five a leaf of as many rows is wide.
        for n in (600, 1600):
            for seed in range(3):
                one = fit_aft(n, seed, 1).min_samples_split_
                five = fit_aft(n, seed, 5).min_samples_split_
                assert one > 2 * five

    def test_more_rows_more_rows_in_a_leaf(self):
        sizes = [fit_aft(n).min_samples_split_ for n in (150, 1000, 8000)]
        assert sizes[0] < sizes[1] < sizes[2]
        # But a smaller share of them.
        assert sizes[0] / 150 > sizes[2] / 8000


class TestExtrapolation:
    @pytest.mark.parametrize("n_features", [1, 5])
    def test_near_the_direct_size(self, monkeypatch, n_features):
        seeds = range(7)
        direct = [fit_aft(1600, seed, n_features).min_samples_split_ for seed in seeds]
        monkeypatch.setattr(leaf_size, "MAX_ROWS", 400)
        far = [fit_aft(1600, seed, n_features).min_samples_split_ for seed in seeds]
        # The second of the two samples has fifty rows: one ratio says little.
        ratio = np.exp(np.median(np.log(far) - np.log(direct)))
        assert 0.5 < ratio < 2

    @pytest.mark.parametrize(
        "options", [{}, {"bootstrap": True}, {"max_samples": 0.25}, {"honest": True}], ids=str
    )
    def test_formula(self, monkeypatch, options):
        monkeypatch.setattr(leaf_size, "MAX_ROWS", 400)
        seen = []
        original = leaf_size._leaf_size_path

        def spy(bins, binner, target, given, **arguments):
            path = original(bins, binner, target, given, **arguments)
            seen.append((target.n, given.n_draws, path))
            return path

        monkeypatch.setattr(leaf_size, "_leaf_size_path", spy)
        forest = fit_aft(1600, **options)
        (n, draws, large), (n_small, draws_small, small) = seen
        share = forest.model_.options.n_draws / 1600
        assert (n, draws) == (400, round(400 * share))
        assert (n_small, draws_small) == (50, round(50 * share))
        rate = min(max(math.log(large.best / small.best, 8), 0.2), 0.9)
        path = forest.leaf_size_path_
        np.testing.assert_array_equal(path.size[:-1], np.rint(large.size[:-1] * 4**rate))
        # The last one still grows no tree beyond its root.
        assert path.size[-1] > forest.model_.options.n_draws
        np.testing.assert_array_equal(path.loss, large.loss)
        np.testing.assert_array_equal(path.std_error, large.std_error)
        assert forest.min_samples_split_ == path.best

    def test_rate_is_bounded(self, monkeypatch):
        monkeypatch.setattr(leaf_size, "MAX_ROWS", 400)
        for best, expected in (((10, 1000), 0.2), ((1000, 10), 0.9), ((16, 4), math.log(4, 8))):
            paths = iter(
                [
                    leaf_size.LeafSizePath(np.array([size, 9999]), np.arange(2.0), np.zeros(2))
                    for size in best
                ]
            )
            monkeypatch.setattr(
                leaf_size, "_leaf_size_path", lambda *_, paths=paths, **__: next(paths)
            )
            assert fit_aft(1600).min_samples_split_ == round(best[0] * 4**expected)

    def test_no_more_rows_than_asked(self, monkeypatch):
        expected = fit_aft(400).leaf_size_path_
        monkeypatch.setattr(leaf_size, "MAX_ROWS", 400)
        assert_same_path(fit_aft(400).leaf_size_path_, expected)
        path = fit_aft(401).leaf_size_path_
        assert path.size[-1] < 410

    def test_number_of_threads(self, monkeypatch):
        monkeypatch.setattr(leaf_size, "MAX_ROWS", 400)
        expected = fit_aft(1600, n_jobs=1).leaf_size_path_
        assert_same_path(fit_aft(1600, n_jobs=3).leaf_size_path_, expected)


class TestTake:
    @pytest.mark.parametrize("censoring", ["right", "left"])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_as_if_they_were_all(self, weighted, censoring):
        _, time, event = mixed_sample(n=120, ties=True)
        weight = whole_weights(120) if weighted else None
        target = Target.from_outcome(time, event, weight, censoring)
        few = np.unique([0, 5, 6, 50, target.event.argmax()])
        for ranks in (np.arange(target.n), np.arange(3, target.n, 4), few):
            part = target.take(ranks)
            # In rank order, so that the row of a rank is the rank.
            rows = target.order[ranks]
            expected = Target.from_outcome(
                time[rows], event[rows], None if weight is None else weight[rows], censoring
            )
            np.testing.assert_array_equal(part.order, np.arange(len(ranks)))
            assert (part.n, part.n_rows, part.mirrored) == (len(rows), len(rows), target.mirrored)
            for name in ("times", "time_index", "event", "order"):
                assert getattr(part, name).dtype == getattr(expected, name).dtype
                np.testing.assert_array_equal(getattr(part, name), getattr(expected, name))
            # Weights are known up to a factor, and need not be dropped where they are all equal.
            if weight is not None:
                np.testing.assert_array_equal(
                    part.weight / part.weight.sum(), weight[rows] / weight[rows].sum()
                )
            else:
                assert part.weight is None
            for one, other in zip(marginal_curves(part), marginal_curves(expected), strict=True):
                np.testing.assert_allclose(one, other, rtol=0, atol=1e-15)
            assert part.engine is not None


class TestKeeping:
    def test_pickle(self):
        forest = fit_mixed()
        again = pickle.loads(pickle.dumps(forest))
        assert_same_path(again.leaf_size_path_, forest.leaf_size_path_)
        assert again.leaf_size_path_.best == again.min_samples_split_ == forest.min_samples_split_
        # And it can be grown on.
        X, time, event = mixed_sample()
        again.set_params(n_estimators=5, warm_start=True).fit(X, time, event)
        np.testing.assert_array_equal(
            again.trees_.ranks(), fit_mixed(n_estimators=5).trees_.ranks()
        )

    def test_clone(self):
        copied = clone(fit_mixed())
        assert not hasattr(copied, "leaf_size_path_")
        assert copied.min_samples_split is None

    def test_fit_does_not_touch_the_parameters(self):
        forest = fit_mixed()
        assert forest.min_samples_split is None
        assert forest.min_samples_leaf is None

    def test_a_failed_fit_leaves_the_old_one(self, monkeypatch):
        forest = fit_mixed()
        path, split = forest.leaf_size_path_, forest.min_samples_split_
        X, time, event = mixed_sample(seed=7, n=400)
        with pytest.raises(ValueError, match="differ in length"):
            forest.fit(X[1:], time, event)
        assert forest.leaf_size_path_ is path

        def fail(*_, **__):
            raise MemoryError("no room for trees")

        monkeypatch.setattr(forest_module, "grow_trees", fail)
        with pytest.raises(MemoryError):
            forest.fit(X, time, event)
        assert forest.leaf_size_path_ is path
        with pytest.raises(MemoryError):
            forest.set_params(min_samples_split=5).fit(X, time, event)
        assert forest.leaf_size_path_ is path
        assert forest.min_samples_split_ == split

    def test_a_first_fit_that_fails_leaves_none(self, monkeypatch):
        def fail(*_, **__):
            raise MemoryError("no room for trees")

        monkeypatch.setattr(forest_module, "grow_trees", fail)
        forest = CensoredQuantileForest()
        with pytest.raises(MemoryError):
            forest.fit(*mixed_sample())
        assert not hasattr(forest, "leaf_size_path_")

    def test_a_size_given_later_forgets_the_path(self):
        forest = fit_mixed()
        X, time, event = mixed_sample()
        forest.set_params(min_samples_leaf=3).fit(X, time, event)
        assert forest.leaf_size_path_ is None
