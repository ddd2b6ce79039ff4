"""The rows behind one prediction, and what a notebook shows."""

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_html_repr

from cqrf import CensoredQuantileForest, Explanation
from cqrf.model.summary import summary_html

LEVELS = [0.1, 0.5, 0.95]


def draw(seed=0, n=150):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.uniform(20, 80, n), "kind": rng.choice(["a", "b<", "c"], n)})
    T = np.exp(frame["age"] / 40 + (frame["kind"] == "a") + 0.4 * rng.normal(size=n))
    C = rng.exponential(12.0, n)
    return frame, np.minimum(T, C).to_numpy(), (T <= C).to_numpy()


X, TIME, EVENT = draw()


def fitted(**parameters):
    defaults = {"n_estimators": 20, "min_samples_leaf": 5, "random_state": 0}
    model = CensoredQuantileForest(**(defaults | {"default_quantiles": LEVELS} | parameters))
    return model.fit(X, TIME, EVENT)


@pytest.fixture(scope="module")
def forest():
    return fitted()


class Balanced(HTMLParser):
    """Fails unless every tag that is opened is closed, in order."""

    def __init__(self, html):
        super().__init__()
        self.open, self.text = [], []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


class TestExplanation:
    @pytest.mark.parametrize("censoring", ["right", "left"])
    def test_against_the_weights(self, censoring):
        model = fitted(censoring=censoring)
        found = model.explain(X.iloc[[4]])
        assert isinstance(found, Explanation)
        w = model.forest_weights(X.iloc[[4]]).toarray()[0]
        assert set(found.rows) == set(np.flatnonzero(w))
        np.testing.assert_array_equal(found.weights, w[found.rows])
        assert (np.diff(found.weights) <= 0).all()
        np.testing.assert_array_equal(found.time, TIME[found.rows])
        np.testing.assert_array_equal(found.event, EVENT[found.rows])
        np.testing.assert_allclose(found.censored_share, w[~EVENT].sum(), rtol=1e-12)
        np.testing.assert_allclose(found.effective_sample_size, 1 / (w**2).sum(), rtol=1e-12)
        assert found.n_train == 150
        assert found.censoring == censoring
        np.testing.assert_array_equal(found.quantiles, LEVELS)
        np.testing.assert_array_equal(found.predicted, model.predict(X.iloc[[4]])[0])
        np.testing.assert_array_equal(found.identified, model.identified(X.iloc[[4]])[0])

    @pytest.mark.parametrize("censoring", ["right", "left"])
    def test_identified_levels_are_the_edge(self, censoring):
        model = fitted(censoring=censoring)
        edges = []
        for i in range(40):
            low, high = model.explain(X.iloc[[i]]).identified_levels
            assert 0 <= low < high <= 1
            edges.append(low if censoring == "left" else 1 - high)
            for edge, inside in ((low, 1e-6), (high, -1e-6)):
                if 0 < edge < 1:
                    assert model.identified(X.iloc[[i]], edge + inside)[0]
                    assert not model.identified(X.iloc[[i]], edge - inside)[0]
        assert max(edges) > 0

    def test_forms_of_a_row(self, forest):
        expected = forest.explain(X.iloc[[7]])
        row = X.iloc[7]
        for x in (row, *(frame(X.iloc[[7]].to_dict("list")) for frame in (pl.DataFrame, pa.table))):
            np.testing.assert_array_equal(forest.explain(x).weights, expected.weights)
        for x in (list(row), tuple(row), row.to_numpy(), row.to_numpy()[None]):
            with pytest.warns(UserWarning, match="feature names"):
                found = forest.explain(x)
            np.testing.assert_array_equal(found.rows, expected.rows)
        numbers = CensoredQuantileForest(5, min_samples_leaf=5).fit(X[["age"]].to_numpy(), TIME)
        np.testing.assert_array_equal(
            numbers.explain([40]).rows, numbers.explain(np.array([[40.0]])).rows
        )

    def test_other_levels(self, forest):
        found = forest.explain(X.iloc[[0]], quantiles=0.3)
        np.testing.assert_array_equal(found.predicted, forest.predict(X.iloc[[0]], [0.3])[0])

    def test_rows_of_no_weight_are_not_there(self):
        s = np.ones(150)
        s[:50] = 0
        model = CensoredQuantileForest(10, min_samples_leaf=5, random_state=0)
        found = model.fit(X, TIME, EVENT, sample_weight=s).explain(X.iloc[[0]])
        assert found.rows.min() >= 50
        np.testing.assert_array_equal(found.time, TIME[found.rows])

    @pytest.mark.parametrize(
        ("x", "error", "match"),
        [
            (X.iloc[:2], ValueError, "one row; x has 2"),
            (X.iloc[:0], ValueError, "0 sample"),
            (np.zeros((1, 1, 2)), ValueError, "dim"),
            (3.0, ValueError, "2D array"),
            (np.zeros(3), ValueError, "features"),
        ],
    )
    @pytest.mark.filterwarnings("ignore:X does not have valid feature names")
    def test_bad_input(self, forest, x, error, match):
        with pytest.raises(error, match=match):
            forest.explain(x)

    def test_not_fitted(self):
        with pytest.raises(NotFittedError):
            CensoredQuantileForest().explain(X.iloc[[0]])

    def test_printed(self, forest):
        i = int(np.argmin(forest.identified(X, 0.95)))
        found = forest.explain(X.iloc[[i]])
        assert not found.identified[-1]
        text = str(found)
        assert f"{len(found.rows)} of 150" in text
        assert f"{found.censored_share:.1%}" in text
        assert f"{found.identified_levels[1]:.3f}" in text
        assert f"> {found.predicted[-1]:.6g}" in text
        assert "lower bound" in text
        shown = re.findall(r"^ +(\d+) +([\d.]+)% ", text, re.M)
        assert [int(row) for row, _ in shown] == found.rows[:10].tolist()
        assert f"{len(found.rows) - 10} more rows" in text
        assert all(len(line) < 100 for line in text.splitlines())

    def test_html(self, forest):
        found = forest.explain(X.iloc[[0]])
        html = Balanced(found._repr_html_())
        for _, value in found._facts():
            assert value in html.text
        for cell in (f"{found.rows[0]}", f"{found.weights[0]:.2%}"):
            assert cell in html.text


class TestNotebook:
    def test_fitted(self, forest):
        html = forest._repr_html_()
        summary = summary_html(forest.model_, "CensoredQuantileForest, fitted")
        text = " ".join(Balanced(summary).text)
        for fact in ("150", f"{EVENT.sum()}", "right censored", "20", "age", "kind"):
            assert fact in text
        assert html.startswith(summary)
        # scikit-learn's own table of parameters follows.
        assert "sk-top-container" in html
        assert forest._repr_mimebundle_()["text/html"].startswith(summary)
        assert "sk-top-container" in estimator_html_repr(forest)
        assert "cqrf-title" not in estimator_html_repr(forest)

    def test_unfitted_is_scikit_learns(self):
        html = CensoredQuantileForest()._repr_html_()
        assert "cqrf-title" not in html
        assert "sk-top-container" in html

    def test_names_are_escaped(self):
        frame = X.rename(columns={"age": "<script>"})
        model = CensoredQuantileForest(5, min_samples_leaf=5).fit(frame, TIME, EVENT)
        assert "<script>" not in model._repr_html_().split("sk-top-container")[0]

    def test_text_display(self, forest):
        with sklearn.config_context(display="text"):
            assert not hasattr(forest, "_repr_html_")
            assert list(forest._repr_mimebundle_()) == ["text/plain"]

    def test_in_a_pipeline(self, forest):
        assert "CensoredQuantileForest" in make_pipeline(forest)._repr_html_()

    def test_chosen_size_and_left_censoring(self):
        model = CensoredQuantileForest(5, censoring="left", random_state=0).fit(X, TIME, EVENT)
        assert "chosen out-of-bag" in model._repr_html_()
        assert "left censored" in model._repr_html_()
