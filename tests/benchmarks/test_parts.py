"""Pieces of the benchmark that a run does not show to be right."""

import dataclasses
import math

import numpy as np
import pytest
from speed.machine_limits import self_cost_by_file
from speed.memory import array_bytes
from speed.methods import Data, Setting
from speed.parts.curves import reason_to_stop, setting_at
from speed.plots import ends_of_stopped, spread_out
from speed.store import Store


def point(fit, predict):
    def timing(seconds):
        return {"method": "m", "threads": 1, "repeats": [1], "seconds": [seconds]}

    return {"m": {"fit": timing(fit), "predict": timing(predict)}}


def test_a_curve_ends_where_the_next_point_would_take_too_long():
    assert reason_to_stop(None, "m", 1.0, 20.0) == ""
    assert reason_to_stop(point(6.0, 0.1), "m", 3.0, 20.0) == ""
    assert reason_to_stop(point(7.0, 0.1), "m", 3.0, 20.0) == "above 20 s"
    assert reason_to_stop(point(0.1, 7.0), "m", 3.0, 20.0) == "above 20 s"
    assert (
        reason_to_stop({"m": {"stopped": "no memory", "limit": 20}}, "m", 1.0, 99.0) == "no memory"
    )


def test_leaves_grow_with_the_rows_and_stay_on_the_other_axes():
    base = Setting(n=10_000, leaf=50)
    assert setting_at(base, "n", 1_000_000).leaf == 500
    assert setting_at(base, "p", 100) == dataclasses.replace(base, p=100)


def test_labels_move_apart_and_stay_inside():
    heights = spread_out([0.5, 0.99, 0.98, 0.97, 0.1], 0.1)
    assert heights[0] == 0.5
    assert heights[4] == 0.1
    top = [heights[k] for k in (3, 2, 1)]
    assert np.diff(top) == pytest.approx([0.1, 0.1])
    assert max(heights) <= 1.0


def test_a_cross_stands_where_a_method_was_stopped():
    go, stop = {"fit": {}}, {"stopped": "above 20 s"}
    upwards = [(1, {"a": go, "b": go}), (2, {"a": go, "b": stop}), (3, {"a": go, "b": stop})]
    assert ends_of_stopped(upwards, ["a", "b"]) == {"b": 1}
    downwards = [(1, {"b": stop}), (2, {"b": go}), (3, {"b": go})]
    assert ends_of_stopped(downwards, ["b"]) == {"b": 2}


def test_stored_figures_are_measured_again_on_other_code_only(tmp_path):
    calls = []

    def once(machine, **options):
        return Store(tmp_path, machine).once(
            "part", "n = 1,000", lambda: calls.append(1), **options
        )

    machine = {"code": "a", "date": "monday", "load": 0.1}
    once(machine)
    once(machine | {"date": "tuesday", "load": 3.0})
    assert len(calls) == 1
    once(machine | {"code": "b"})
    assert len(calls) == 2
    once(machine | {"code": "b"}, stale=lambda figures: True)
    assert len(calls) == 3


def test_records_are_in_the_order_of_their_numbers(tmp_path):
    store = Store(tmp_path, {"code": "a"})
    for key in ("n = 1,000,000", "n = 20,000", "n = 100,000"):
        store.once("part", key, dict)
    assert list(store.records("part")) == ["n = 20,000", "n = 100,000", "n = 1,000,000"]


def test_arrays_are_counted_once_wherever_they_are_held():
    @dataclasses.dataclass
    class Owner:
        a: np.ndarray
        others: list
        more: dict

    a = np.zeros(10)
    owner = Owner(a, [a, a[2:5]], {"b": np.zeros(4, dtype=np.uint8), "text": "x"})
    assert array_bytes(owner) == {"a": 80, "more.b": 4}


def test_instructions_are_counted_where_they_were_written():
    text = """fl=(1) /x/src/engine/tree/../search/best.hpp
fn=(1) grow
10 5
+1 7
fi=(2) /usr/include/c++/12/bits/stl_algo.h
* 3
fe=(1)
cfi=(3) /x/src/engine/tree/leaves.cpp
cfn=(2) leaves
calls=1 20
12 100
-2 1

fl=(3)
fn=(2)
20 100
"""
    counts = self_cost_by_file(text)
    assert counts == {"search/best.hpp": 13, "C and C++ library": 3, "tree/leaves.cpp": 100}


def test_three_in_ten_times_are_censored():
    data = Data.draw(1_000, 10, seed=0)
    assert math.isclose(data.event.mean(), 0.7, abs_tol=0.002)
    assert (data.time <= data.y).all()
    assert data.X_test.shape == (10, 10)
