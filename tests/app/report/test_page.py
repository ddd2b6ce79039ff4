"""The report: what is on the page, for all kinds of data, and what it warns of."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest

from cqrf import CensoredQuantileForest, Surv
from cqrf.app.report import Report
from cqrf.app.report.cautions import _miscalibrated, find_cautions
from cqrf.app.report.data_chapter import _median
from cqrf.app.report.feature_chapters import measure_effects
from cqrf.app.report.page import _medians
from cqrf.app.report.row_chapter import choose_rows, portray
from cqrf.app.report.subject import Subject, level_index
from cqrf.datasets import load_congress, load_stormwater_cadmium, make_aft
from cqrf.metrics import QuantileCalibration
from cqrf.support.words import TIMES

CHAPTERS = [
    "warnings",
    "data",
    "fit",
    "leaves",
    "importance",
    "effects",
    "rows",
    "assumptions",
    "cite",
]
VOID = {"meta", "link", "input", "br", "img"}


class Checker(HTMLParser):
    """Every element is closed in order; ids, addresses and texts are gathered."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.addresses = [], [], []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if "id" in attrs:
            self.ids.append(attrs["id"])
        self.addresses += [attrs[name] for name in ("src", "href", "action") if name in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def check(page):
    parser = Checker()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    assert all(address.startswith(("#", "data:")) for address in parser.addresses)
    assert {address[1:] for address in parser.addresses if address.startswith("#")} <= set(
        parser.ids
    )
    assert "@import" not in page
    assert not re.search(r"url\(", page)
    return parser


def fitted(X, time, event=None, **parameters):
    parameters = {"n_estimators": 30, "random_state": 0, "n_jobs": 2, **parameters}
    return CensoredQuantileForest(**parameters).fit(X, time, event)


def subject(X, time, event, **parameters):
    forest = fitted(X, time, event, **parameters)
    return Subject.from_data(forest, X, time, event, "title", "time")


@pytest.fixture(scope="module")
def congress():
    data = load_congress()
    forest = fitted(data.X, data.time, data.event)
    return data, forest, forest.report(data.X, data.time, data.event, title="Congress")


class TestPage:
    def test_all_chapters_in_one_document(self, congress):
        parser = check(congress[2].html)
        assert [i for i in parser.ids if i in CHAPTERS] == CHAPTERS
        assert len(congress[2].html) < 6e6

    def test_charts_have_names_and_tables(self, congress):
        page = congress[2].html
        charts = re.findall(r'<svg class="chart"[^>]*aria-label="([^"]+)"', page)
        assert len(charts) >= 15
        assert page.count("<summary>Numbers") >= 8

    def test_numbers_on_the_page_are_those_of_the_forest(self, congress):
        data, forest, report = congress
        assert "<b>1,046</b>" in report.html
        assert f"<b>{data.event.sum()}</b>" in report.html
        assert f"nodes of {forest.min_samples_split_} or more rows" in report.html

    def test_the_object(self, congress, tmp_path):
        _, _, report = congress
        assert isinstance(report, Report)
        report.save(tmp_path / "r.html")
        assert (tmp_path / "r.html").read_text(encoding="utf-8") == report.html
        shown = report._repr_html_()
        assert shown.startswith("<iframe")
        assert "<script" not in shown
        assert "warnings" in repr(report)
        assert type(report.html) is str
        assert any("entry_year" in warning for warning in report.warnings)

    def test_it_is_repeatable(self, congress):
        data, forest, report = congress
        again = forest.report(data.X, data.time, data.event, title="Congress")
        assert again.html == report.html

    def test_held_out_rows(self, congress):
        data, *_ = congress
        forest = fitted(data.X[:700], data.time[:700], data.event[:700])
        page = forest.report(data.X[700:], data.time[700:], data.event[700:]).html
        check(page)
        assert "346 rows that the forest has not seen" in page

    def test_other_containers(self, congress):
        data, _, report = congress
        X = pl.from_pandas(data.X)
        y = Surv.from_arrays(data.event, data.time)
        again = fitted(X, y).report(X, y, title="Congress")
        assert again.html == report.html

    def test_left_censored_with_missing_values(self):
        data = load_stormwater_cadmium()
        forest = fitted(data.X, data.time, data.event, censoring="left")
        page = forest.report(data.X, data.time, data.event, time_name="cadmium").html
        check(page)
        assert "below" in page
        assert "Share of missing values" in page

    def test_names_cannot_break_the_page(self):
        data = make_aft(80, n_features=5, random_state=0)
        evil = "</script><script>alert(1)</script>"
        X = pd.DataFrame(data.X, columns=[evil, "b&b", '"c"', "<i>", "e"])
        X["<b>text</b>"] = np.where(np.arange(80) % 2, "<u>", "'v'")
        page = fitted(X, data.time, data.event).report(
            X, data.time, data.event, title=evil, time_name="<t>"
        ).html  # fmt: skip
        check(page)
        assert page.count("<script") == 1
        assert "<u>" not in page

    @pytest.mark.parametrize(
        "case", ["no censoring", "tiny", "constant", "empty column", "negative"]
    )
    def test_unusual_data(self, case):
        data = make_aft(30 if case == "tiny" else 100, n_features=5, random_state=0)
        X, time, event = data.X.copy(), data.time.copy(), data.event.copy()
        if case == "no censoring":
            event[:] = True
        if case == "constant":
            X[:] = 1.0
        if case == "empty column":
            X[:, 1] = np.nan
        if case == "negative":
            time = np.log(time)
        page = fitted(X, time, event).report(X, time, event).html
        check(page)
        assert "nan" not in re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL).lower()

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (lambda X, t, e: (X[:50], t, e), "differ in length"),
            (lambda X, t, e: (X, t, np.zeros(100, bool)), "never True"),
            (lambda X, t, e: (X[:, :3], t, e), "features"),
        ],
    )
    def test_bad_input(self, change, words):
        data = make_aft(100, n_features=5, random_state=0)
        forest = fitted(data.X, data.time, data.event)
        with pytest.raises(ValueError, match=words):
            forest.report(*change(data.X, data.time, data.event))

    def test_a_missing_extra_is_named_and_notebooks_need_none(self):
        code = (
            "import sys; sys.modules.update(jinja2=None, markupsafe=None)\n"
            "from cqrf import CensoredQuantileForest as Forest\n"
            "X, y = [[1.0], [2.0], [3.0], [4.0]], [1.0, 2.0, 3.0, 4.0]\n"
            "forest = Forest(3, random_state=0).fit(X, y)\n"
            "assert 'training rows' in forest._repr_mimebundle_()['text/html']\n"
            "assert 'weight' in forest.explain([1.0])._repr_html_()\n"
            "try: forest.report(X, y)\n"
            "except ImportError as error: print(error)"
        )
        said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
        assert said.stdout.decode() == "forest.report needs jinja2: pip install 'cqrf[report]'\n"

    def test_a_forest_without_out_of_bag_rows(self):
        data = make_aft(100, n_features=5, random_state=0)
        forest = fitted(data.X, data.time, data.event, max_samples=None)
        with pytest.raises(ValueError, match="leave rows out"):
            forest.report(data.X, data.time, data.event)


def words_of(page):
    """Texts that readers see or hear, without the name of the method and its citation."""
    page = re.sub(r"<(script|style).*?</\1>", "", page, flags=re.DOTALL)
    page = page.partition('<section id="cite">')[0]
    spoken = re.findall(r'(?:aria-label|data-tip|data-chart)="([^"]*)"', page)
    text = " ".join([re.sub(r"<[^>]*>", " ", page), *spoken])
    return re.sub(r"censored quantile forest", "", text, flags=re.IGNORECASE)


@pytest.fixture(scope="module")
def stopped():
    """A study that ends before half of the rows have had their event."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 300), rng.normal(size=300)])
    latent = rng.exponential(1.0, 300) * np.exp(X[:, 0]) * 100.0
    time, event = np.minimum(latent, 52.0), latent <= 52.0
    forest = fitted(X, time, event)
    return forest, X, time, event, forest.report(X, time, event, time_name="weeks")


class TestWhatIsShown:
    def test_numbers_that_are_bounds_are_shown_as_bounds(self, stopped):
        page = stopped[-1].html
        assert "Predicted median weeks: beyond 52 for a typical row, " in page
        assert "<b>beyond 52</b><span>median weeks, all rows (Kaplan-Meier)</span>" in page
        assert "90% time: beyond 52" in page
        # In the tables of effects too.
        assert "<td>beyond 52</td>" in page
        assert "nan" not in words_of(page)

    def test_a_headline_mixes_bounds_and_numbers(self, stopped):
        forest, X, time, event, _ = stopped
        it = Subject.from_data(forest, X, time, event, "t", "t")
        at = level_index(0.5)
        n = it.n
        it.predictions.quantiles[:, at] = np.where(np.arange(n) < n // 2 + 1, 10.0, 52.0)
        it.predictions.identified[:, at] = np.arange(n) < n // 2 + 1
        assert _medians(it) == ["10", "10", "beyond 52"]

    def test_the_median_of_all_rows_is_kaplan_meier_s(self):
        # 8 rows at risk at 1, 6 at 3, 4 at 5: 7/8, 7/8 5/6, 7/8 5/6 3/4 = 0.547; at 6: 0.365.
        time = np.arange(1.0, 9.0)
        event = np.array([1, 0, 1, 0, 1, 1, 0, 0], bool)
        X = np.arange(8.0)[:, None]
        forest = fitted(X, time, event, min_samples_leaf=2)
        assert _median(Subject.from_data(forest, X, time, event, "t", "t")) == "6"
        forest = fitted(X, -time, event, min_samples_leaf=2, censoring="left")
        assert _median(Subject.from_data(forest, X, -time, event, "t", "t")) == "-6"
        event[5:] = False
        forest = fitted(X, -time, event, min_samples_leaf=2, censoring="left")
        assert _median(Subject.from_data(forest, X, -time, event, "t", "t")) == "below -8"

    def test_warnings_are_counted_as_they_are_shown(self, stopped, congress):
        for report in (stopped[-1], congress[-1]):
            chapter = report.html.partition('<section id="warnings">')[2].partition("</section>")[0]
            warned, noted = chapter.count('<li class="warning">'), chapter.count('class="note"')
            shown = re.search(r'<a href="#warnings">(\w+) warnings?(?: and (\d+) notes?)?</a>',
                              report.html)  # fmt: skip
            assert shown[1] == (str(warned) if warned else "No")
            assert int(shown[2] or 0) == noted
            assert len(report.warnings) == warned
            first, _, rest = chapter.partition("<h3>Notes</h3>")
            assert "note" not in first
            assert "warning" not in rest

    def test_indicators_have_two_ticks(self, stopped):
        chapter = stopped[-1].html.partition('<section id="effects">')[2]
        chart = re.search(r'aria-label="Effect of x0 on.*?</svg>', chapter, re.DOTALL)[0]
        ticks = re.findall(r'<text x="[\d.]+" y="271" text-anchor="middle">([^<]+)</text>', chart)
        assert ticks == ["0", "1"]

    def test_detection_limits_are_spoken_of_as_such(self):
        data = load_stormwater_cadmium()
        X = data.X.drop(columns="state")
        forest = fitted(X, data.time, data.event, censoring="left")
        text = words_of(forest.report(X, data.time, data.event).html)
        for word in ("event", "time", "surviv", "censor", "early", "late", "beyond", "nan"):
            found = re.search(rf".{{40}}\b{word}.{{20}}", text, re.IGNORECASE | re.DOTALL)
            assert found is None, found
        for phrase in ("values measured", "below the limit", "10% quantile", "median value"):
            assert phrase in text

    def test_captions_tell_how_far_is_scored(self, stopped):
        page = stopped[-1].html
        for what in ("Whole curves", "Pinball loss", "Calibration", "Coverage"):
            assert f"{what}, scored up to 52: " in page
        # The log score has an error, too.
        assert re.search(r"<td>-?0\.\d{3} ± 0\.\d{3}</td>", page)

    def test_times_are_spoken_of_as_times(self, congress):
        text = words_of(congress[-1].html)
        assert "detection" not in text
        assert "the limit" not in text
        for phrase in ("events seen", "censored", "10% time", "median time", "survival curve"):
            assert phrase in text

    def test_the_bound_of_an_effect_is_the_end_of_the_record(self):
        rng = np.random.default_rng(0)
        X, event = rng.normal(size=(200, 1)), np.arange(200) < 60
        time = np.where(event, rng.uniform(1.0, 5.0, 200), 8.0)
        for censoring, sign, bound in (("right", 1.0, "beyond 8"), ("left", -1.0, "below -8")):
            forest = fitted(X, sign * time, event, censoring=censoring)
            page = forest.report(X, sign * time, event).html
            assert f"Where a line or a point is missing, it lies {bound}." in page

    def test_effects_below_a_limit_are_bounds(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(300, 1))
        value = np.exp(rng.normal(size=300))
        it = Subject.from_data(
            fitted(X, np.maximum(value, 1.0), value >= 1.0, censoring="left"),
            X, np.maximum(value, 1.0), value >= 1.0, "t", None,
        )  # fmt: skip
        effect = measure_effects(it, np.array([0]))[0].effect
        assert not effect.identified[:, 0].any()
        assert effect.identified[:, 2].all()
        assert (effect.quantiles[:, 2] > 1.0).all()
        assert it.time_name == "value"


class TestParts:
    def test_effects_follow_the_truth(self):
        rng = np.random.default_rng(0)
        X = rng.uniform(size=(600, 3))
        time = np.exp(2.0 * X[:, 0] + 0.2 * rng.normal(size=600))
        it = subject(X, time, np.ones(600, bool), n_estimators=100)
        medians = [found.effect.quantiles[:, 1] for found in measure_effects(it, np.arange(3))]
        # exp(2 x) between the ends of the grid, 0.025 and 0.975.
        rise = medians[0][-1] / medians[0][0]
        assert 4.0 < rise < np.exp(1.9) * 1.1
        for other in medians[1:]:
            assert np.ptp(other) < 0.25 * np.ptp(medians[0])

    def test_a_row_has_no_weight_in_its_own_prediction(self):
        data = make_aft(200, n_features=5, random_state=0)
        it = subject(data.X, data.time, data.event)
        rows = choose_rows(it)
        assert len(set(rows)) == len(rows)
        for portrait in portray(it, rows):
            assert portrait.weights[portrait.row] == 0.0
            assert portrait.weights.sum() == pytest.approx(1.0)

    def test_weights_of_unseen_rows_are_the_forest_s(self):
        data = make_aft(200, n_features=5, random_state=0)
        new = make_aft(50, n_features=5, random_state=1)
        forest = fitted(data.X, data.time, data.event)
        it = Subject.from_data(forest, new.X, new.time, new.event, "t", "t")
        portraits = portray(it, [3, 8])
        weights = forest.forest_weights(new.X[[3, 8]]).toarray()
        np.testing.assert_allclose([p.weights for p in portraits], weights, atol=1e-15)
        np.testing.assert_allclose(
            [p.quantiles for p in portraits], forest.predict(new.X[[3, 8]], [0.1, 0.5, 0.9])
        )


def titles(it):
    return [caution.title for caution in find_cautions(it) if caution.kind == "warning"]


class TestCautions:
    def draw(self, n=400, seed=0):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, 3))
        # Not a straight line, or Cox regression would rightly do better.
        latent = np.exp(np.sin(2.0 * X[:, 0]) + 0.3 * rng.normal(size=n))
        limit = rng.exponential(5.0, n)
        return rng, X, latent, limit

    def outcome(self, latent, limit):
        return np.minimum(latent, limit), latent <= limit

    def test_nothing_wrong(self):
        _, X, latent, limit = self.draw()
        assert titles(subject(X, *self.outcome(latent, limit))) == []

    def test_a_forest_without_splits_does_as_well_as_kaplan_meier(self):
        _, X, latent, limit = self.draw(n=2500)
        found = titles(subject(X, *self.outcome(latent, limit), min_samples_split=2501))
        assert "The forest gains little from the features" in found
        assert "Kaplan-Meier does better" not in found

    def test_heavy_censoring_in_a_region(self):
        _, X, latent, limit = self.draw()
        limit[X[:, 1] > 0.7] *= 0.005
        assert any(
            "Heavy censoring where x1 is above" in t
            for t in titles(subject(X, *self.outcome(latent, limit)))
        )

    def test_informative_missingness(self):
        rng, X, latent, limit = self.draw()
        blind = X.copy()
        blind[rng.uniform(size=400) < 0.15, 1] = np.nan
        assert titles(subject(blind, *self.outcome(latent, limit))) == []
        told = X.copy()
        told[(latent > 2.0) & (rng.uniform(size=400) < 0.7), 1] = np.nan
        assert "Missing values of x1 are informative" in titles(
            subject(told, *self.outcome(latent, limit))
        )

    def test_unidentified_quantiles(self):
        _, X, latent, _ = self.draw()
        found = titles(subject(X, *self.outcome(latent, np.full(400, np.quantile(latent, 0.4)))))
        assert any(t.startswith("The 90% time is not identified") for t in found)

    def test_dependent_censoring(self):
        _, X, latent, limit = self.draw()
        found = titles(subject(X, *self.outcome(latent, limit * np.exp(1.5 * X[:, 1]))))
        assert "Censoring depends on the features" in found

    def test_useless_features_leaks_and_identifiers(self):
        rng, X, latent, limit = self.draw()
        time, event = self.outcome(latent, limit)
        noise = titles(subject(rng.normal(size=(400, 2)), time, event))
        assert {"The forest gains little from the features", "Kaplan-Meier does better"} & set(
            noise
        )
        leak = np.column_stack([X, time + 0.001])
        assert "x3 almost tells the outcome" in titles(subject(leak, time, event))
        frame = pd.DataFrame(X, columns=list("abc")).assign(id=[f"r{i}" for i in range(400)])
        assert "id looks like an identifier" in titles(subject(frame, time, event))

    def calibrated(self, *, level, observed, below, error=0.01, n_used=200):
        """A subject of which one quantile is known, and what is said of it."""
        arrays = (np.array([value]) for value in (level, observed, error, n_used))
        scores = SimpleNamespace(
            calibration=QuantileCalibration(*arrays, horizon=9.0), strictly_below=np.array([below])
        )
        found = _miscalibrated(SimpleNamespace(scores=scores, words=TIMES))
        return [caution.text.partition(" (")[0] for caution in found]

    def test_quantiles_that_are_off(self):
        assert self.calibrated(level=0.1, observed=0.3, below=0.3) == [
            "30% of the rows lie below their predicted 10% time"
        ]
        assert self.calibrated(level=0.9, observed=0.7, below=0.6) == [
            "70% of the rows lie at or below their predicted 90% time"
        ]
        assert self.calibrated(level=0.1, observed=0.12, below=0.12) == []
        assert self.calibrated(level=0.1, observed=np.nan, below=np.nan, n_used=0) == []

    def test_quantiles_that_tie_with_times_are_right_within_the_tie(self):
        assert self.calibrated(level=0.05, observed=0.47, below=0.015) == []
        data = load_stormwater_cadmium()
        it = subject(data.X, data.time, data.event, censoring="left", n_estimators=100)
        found, below = it.scores.calibration, it.scores.strictly_below
        # What looks like a gross error is the share of values that are the quantile itself.
        assert (found.observed - found.quantiles).max() > 0.15
        assert (below <= found.observed + 1e-12).all()
        assert "Some quantiles are off" not in titles(it)

    def test_a_few_rows_that_all_lie_below_are_no_proof(self):
        rng = np.random.default_rng(0)
        errors = self.calibrated(level=0.95, observed=1.0, below=1.0, error=0.0, n_used=36)
        assert errors == []
        # Whatever the level, hardly a report in a hundred blames 36 rows of a true quantile.
        for level in (0.05, 0.5, 0.9):
            shares = (rng.random((1000, 36)) < level).mean(axis=1)
            wrong = [
                self.calibrated(level=level, observed=p, below=p, error=0.0, n_used=36)
                for p in shares
            ]
            assert sum(map(bool, wrong)) <= 15

    def test_few_events(self):
        _, X, latent, limit = self.draw(n=60)
        assert "Few events" in titles(subject(X, *self.outcome(latent, limit * 0.2)))
