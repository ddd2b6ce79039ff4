"""What the outcome is called: found by fit, written with times, kept by model files."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from cqrf import CensoredQuantileForest, OutcomeLabels, Surv

NAMED = {
    "series": lambda t, e: (pd.Series(t, name="week"), pd.Series(e, name="arrest")),
    "polars": lambda t, e: (pl.Series("week", t), pl.Series("arrest", e)),
    "structured": lambda t, e: (Surv.from_arrays(e, t, "arrest", "week"), None),
}


def fit(y, event):
    X = np.arange(float(len(y)))[:, None]
    return CensoredQuantileForest(2, min_samples_leaf=3, random_state=0).fit(X, y, event)


@pytest.fixture
def outcome():
    rng = np.random.default_rng(0)
    return rng.exponential(size=20), rng.uniform(size=20) < 0.7


@pytest.mark.parametrize("form", NAMED)
def test_fit_finds_the_names(outcome, form):
    assert fit(*NAMED[form](*outcome)).outcome_labels_ == OutcomeLabels("week", "arrest", None)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_of_a_frame(outcome, frame):
    y = frame({"duration": outcome[0], "event": outcome[1]})
    assert fit(y, None).outcome_labels_ == OutcomeLabels("duration", "event", None)


def test_there_may_be_no_names(outcome):
    time, event = outcome
    assert fit(time, event).outcome_labels_ == OutcomeLabels()
    assert fit(pd.Series(time, name=7), event).outcome_labels_ == OutcomeLabels()
    assert fit(pd.Series(time, name="x" * 1000), event).outcome_labels_ == OutcomeLabels()
    # The next fit forgets the names of the one before.
    forest = fit(pd.Series(time, name="week"), event)
    assert forest.fit(np.zeros((20, 1)), time, event).outcome_labels_ == OutcomeLabels()


def test_the_model_file_keeps_them(outcome, tmp_path):
    forest = fit(*outcome)
    for labels in (OutcomeLabels(), OutcomeLabels("Überlebenszeit", None, "Tage \ud800")):
        forest.outcome_labels_ = labels
        forest.save(tmp_path / "model.cqrf")
        assert CensoredQuantileForest.load(tmp_path / "model.cqrf").outcome_labels_ == labels


def test_times_are_written_with_their_unit():
    weeks = OutcomeLabels(unit="weeks")
    assert weeks.write(52.0) == "52 weeks"
    assert weeks.write(1 / 3, digits=3) == "0.333 weeks"
    assert OutcomeLabels().write(52.0) == "52"


@pytest.mark.parametrize("name", ["time", "event", "unit"])
def test_labels_are_short_texts(name):
    with pytest.raises(TypeError, match=f"{name} must be a text or None; received 7"):
        OutcomeLabels(**{name: 7})
    with pytest.raises(ValueError, match=f"{name} must have at most 200 characters; it has 201"):
        OutcomeLabels(**{name: "x" * 201})
