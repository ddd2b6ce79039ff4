"""The shipped data: what the loaders return, and that the page beside the data tells the truth."""

import csv
import inspect
import sys
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest

from cqrf import datasets
from cqrf.datasets import load as _load
from cqrf.datasets import load_congress, load_stormwater_cadmium

DATA = files("cqrf.datasets").joinpath("data")
CSV_FILES = sorted(entry.name for entry in DATA.iterdir() if entry.name.endswith(".csv"))

# loader, rows, features, censoring, censored rows, missing values
SETS = [
    pytest.param(load_congress, 1046, 7, "right", 482, 0, id="congress"),
    pytest.param(load_stormwater_cadmium, 563, 8, "left", 268, 9, id="stormwater_cadmium"),
]
LOADERS = [pytest.param(case.values[0], id=case.id) for case in SETS]


def read_rows(name):
    with DATA.joinpath(name).open("r", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_every_public_name_is_a_loader_tested_here():
    loaders = [name for name in datasets.__all__ if name.startswith("load_")]
    assert sorted(loaders) == sorted(case.values[0].__name__ for case in SETS)


def test_every_csv_has_a_loader():
    assert sorted(case.values[0]().filename for case in SETS) == CSV_FILES


@pytest.mark.parametrize(
    ("load", "n_rows", "n_features", "censoring", "n_censored", "n_missing"), SETS
)
class TestContents:
    def test_shapes(self, load, n_rows, n_features, censoring, n_censored, n_missing):
        data = load()
        assert data.X.shape == (n_rows, n_features)
        assert data.time.shape == (n_rows,)
        assert data.event.shape == (n_rows,)
        assert data.feature_names == list(data.X.columns)
        assert not {"time", "event"} & set(data.feature_names)
        assert n_rows > 300

    def test_censoring(self, load, n_rows, n_features, censoring, n_censored, n_missing):
        data = load()
        assert data.censoring == censoring
        assert np.count_nonzero(~data.event) == n_censored
        assert 0.3 < n_censored / n_rows < 0.75

    def test_missing_values(self, load, n_rows, n_features, censoring, n_censored, n_missing):
        assert int(load().X.isna().to_numpy().sum()) == n_missing

    def test_page_states_the_numbers(
        self, load, n_rows, n_features, censoring, n_censored, n_missing
    ):
        data = load()
        share = f"{100 * n_censored / n_rows:.1f} %"
        assert f"**Rows:** {n_rows}." in data.DESCR
        assert f"**Censored:** {n_censored} ({share}), from the {censoring}." in data.DESCR
        page = DATA.joinpath("README.md").read_text(encoding="utf-8")
        row = f"| `{data.filename}` | `{load.__name__}` | {censoring} | {n_rows} | {share} |"
        assert row in page


@pytest.mark.parametrize("load", LOADERS)
class TestForm:
    def test_outcome_types(self, load):
        data = load()
        assert isinstance(data.time, np.ndarray)
        assert isinstance(data.event, np.ndarray)
        assert data.time.dtype == np.float64
        assert data.event.dtype == np.bool_
        assert np.isfinite(data.time).all()
        assert (data.time > 0).all()

    def test_text_is_categorical_and_the_rest_numeric(self, load):
        X = load().X
        assert isinstance(X, pd.DataFrame)
        text = [name for name in X if isinstance(X[name].dtype, pd.CategoricalDtype)]
        assert text
        rest = X.drop(columns=text)
        assert rest.shape[1] > 0
        assert all(pd.api.types.is_numeric_dtype(dtype) for dtype in rest.dtypes)
        assert all(X[name].nunique() > 1 for name in X), "a constant column is not a feature"

    def test_frame_equals_the_file(self, load):
        data = load()
        rows = read_rows(data.filename)
        assert [float(row["time"]) for row in rows] == data.time.tolist()
        assert [row["event"] == "1" for row in rows] == data.event.tolist()
        for name in data.feature_names:
            column = data.X[name]
            if isinstance(column.dtype, pd.CategoricalDtype):
                expected = [row[name] for row in rows]
                assert column.astype(str).tolist() == expected
            else:
                expected = [float(row[name] or "nan") for row in rows]
                np.testing.assert_array_equal(column.to_numpy(dtype=float), expected)

    def test_return_X_y(self, load):
        data = load()
        X, y = load(return_X_y=True)
        pd.testing.assert_frame_equal(X, data.X)
        assert y.dtype == np.dtype([("event", np.bool_), ("time", np.float64)])
        np.testing.assert_array_equal(y["event"], data.event)
        np.testing.assert_array_equal(y["time"], data.time)

    def test_description_names_source_and_licence(self, load):
        data = load()
        assert data.description == data.DESCR
        for heading in ("**Source:**", "**Citation:**", "**Licence:**", "**What was changed:**"):
            assert heading in data.DESCR
        assert "https://" in data.DESCR
        assert data.DESCR.startswith(data.filename)
        assert data.DESCR.count(".csv\n") == 1, "the description runs into the next section"

    def test_description_has_every_column(self, load):
        data = load()
        for name in ("time", "event", *data.feature_names):
            assert f"\n| `{name}` |" in data.DESCR

    def test_a_caller_cannot_spoil_the_data_for_the_next(self, load):
        first = load()
        expected = first.time[0]
        first.time[:] = -1
        first.X.drop(columns=first.feature_names, inplace=True)
        second = load()
        assert second.time[0] == expected
        assert list(second.X.columns) == second.feature_names

    def test_without_pandas(self, load, monkeypatch):
        monkeypatch.setitem(sys.modules, "pandas", None)
        with pytest.raises(ImportError, match=r"pandas.*pip install cqrf\[frames\]"):
            load()

    def test_documented(self, load):
        assert ">>>" in inspect.getdoc(load)


def test_importing_the_package_needs_no_pandas():
    assert "pandas" not in vars(_load)
    assert "pd" not in vars(_load)


@pytest.mark.parametrize("name", CSV_FILES)
class TestFiles:
    def test_event_codes(self, name):
        assert {row["event"] for row in read_rows(name)} == {"0", "1"}

    def test_time_and_event_come_first(self, name):
        header = DATA.joinpath(name).read_text(encoding="utf-8").split("\n", 1)[0]
        assert header.split(",")[:2] == ["time", "event"]

    def test_small(self, name):
        assert len(DATA.joinpath(name).read_bytes()) < 150_000

    def test_listed_with_its_licence(self, name):
        assert f"\n## {name}\n" in DATA.joinpath("README.md").read_text(encoding="utf-8")
        assert f"\n## {name}\n" in DATA.joinpath("LICENSES.md").read_text(encoding="utf-8")


def test_licences_are_the_ones_claimed():
    assert "CC0 1.0" in load_congress().DESCR
    assert "BSD-3-Clause" in load_stormwater_cadmium().DESCR
    licences = DATA.joinpath("LICENSES.md").read_text(encoding="utf-8")
    assert "creativecommons.org/publicdomain/zero/1.0" in licences
    # Both notices ask to travel with the copies.
    assert "Copyright (c) 2014 Liji Jinaraj" in licences
    assert "Copyright (c) 2015, Geosyntec Consultants, Herrera Environmental" in licences


def test_unknown_event_code_is_refused(monkeypatch):
    frame = pd.DataFrame({"time": [1.0, 2.0, 3.0], "event": [1, 2, 1], "x": [1.0, 2.0, 3.0]})
    monkeypatch.setattr(_load, "_read_csv", lambda filename: frame)
    with pytest.raises(ValueError, match="event"):
        load_congress()


def test_congress_is_censored_by_the_end_of_the_record():
    data = load_congress()
    # Nobody can be seen beyond July 2015, and the censored are those who reach it.
    end = data.X["entry_year"] + data.time
    assert (end < 2015.6).all()
    assert (end[~data.event] > 2014.4).all()
    assert set(data.X["party"].cat.categories) == {"democrat", "other", "republican"}


def test_stormwater_has_several_detection_limits():
    data = load_stormwater_cadmium()
    limits = np.unique(data.time[~data.event])
    assert limits.size > 5
    # Were all limits below all measurements, the censoring would not matter to most quantiles.
    assert np.mean(data.time[data.event] < limits.max()) > 0.5
