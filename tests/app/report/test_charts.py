"""Charts are well-formed pictures whose marks stand where their numbers say."""

import json
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from cqrf.app.report.charts import Axis, Chart
from cqrf.app.report.numerals import bounded, number, percent, plus_minus
from cqrf.app.report.parts import CaptionedChart, CellTable
from cqrf.support.words import TIMES, VALUES

FINITE = st.floats(-1e12, 1e12)


class TestAxis:
    @given(FINITE, FINITE)
    @example(0.0, 8.745428129624892e-13)
    def test_ticks_are_few_round_and_inside(self, a, b):
        assume(abs(a - b) > 1e-9 * max(abs(a), abs(b), 1e-6))
        axis = Axis("x", min(a, b), max(a, b))
        ticks = axis.ticks()
        assert 2 <= len(ticks) <= 8
        span = axis.high - axis.low
        assert all(axis.low - 1e-6 * span <= t <= axis.high + 1e-6 * span for t in ticks)
        steps = np.diff(ticks)
        np.testing.assert_allclose(steps, steps[0], rtol=1e-3)

    def test_an_indicator_has_two_ticks(self):
        assert Axis.along("x", np.array([0.0, 1.0])).ticks() == [0.0, 1.0]
        assert Axis.along("x", np.array([3.0])).ticks() == [3.0]
        assert len(Axis.along("x", np.array([0.0, 0.5, 1.0])).ticks()) > 3

    @given(st.floats(1e-6, 1e6), st.floats(3.0, 1e6))
    def test_logarithmic_ticks(self, low, ratio):
        axis = Axis("x", low, low * ratio, log=True)
        assert all(axis.low <= t <= axis.high for t in axis.ticks())

    @given(st.lists(FINITE, min_size=1), st.booleans())
    def test_around_holds_its_values(self, values, zero):
        axis = Axis.around("x", np.array([*values, np.nan]), zero=zero)
        assert axis.low < axis.high
        assert all(axis.low <= v <= axis.high for v in values)
        assert not zero or axis.low <= 0.0 <= axis.high


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (1990.0, "1990"), (12345.6, "12,346"), (0.01234, "0.0123"), (5.999, "6"),
     (1e-7, "1.00e-07"), (np.nan, "-"), (-2.5, "-2.5")],
)  # fmt: skip
def test_numbers(value, text):
    assert number(value) == text


def test_shares_and_bounds():
    assert [percent(v) for v in (0.5, 0.1234, 0.0004, 0.0, np.nan)] == [
        "50%",
        "12.3%",
        "0.04%",
        "0%",
        "-",
    ]
    assert bounded(3.0, True, TIMES) == "3"
    assert bounded(3.0, False, TIMES) == "beyond 3"
    assert bounded(3.0, False, VALUES) == "below 3"


def test_what_does_not_exist_is_a_dash():
    assert plus_minus(0.5, 0.1, percent) == "50% ± 10%"
    assert plus_minus(0.5, np.nan) == "0.5"
    assert plus_minus(np.nan, np.nan, percent) == "-"


class TestChart:
    def chart(self):
        chart = Chart('a <b> "c" & d', Axis("x", 0.0, 10.0), Axis("y", 0.0, 1.0, percent=True))
        chart.line([0.0, 5.0, 10.0], [1.0, 0.5, 0.0], "#123456", "one")
        chart.line([0.0, np.nan, 10.0], [0.0, 0.1, 0.2], "#654321", "two", step=True, dash="2 2")
        chart.dot(5.0, 0.5, "#123456", "tip <1>", error_y=0.1)
        chart.bar((1.0, 0.0), (2.0, 0.5), "#123456", "bar")
        chart.ribbon([0.0, 10.0], [0.1, 0.2], [0.3, 0.4], "#123456")
        chart.rule(3.0, label="here")
        return chart

    def test_well_formed_with_a_name(self):
        tree = ET.fromstring(self.chart().svg())
        assert tree.get("role") == "img"
        assert tree.get("aria-label") == 'a <b> "c" & d'
        data = json.loads(tree.get("data-chart"))
        assert [line["name"] for line in data["series"]] == ["one", "two"]
        assert data["series"][1]["x"] == [0.0, 10.0]

    def test_marks_stand_where_their_numbers_say(self):
        tree = ET.fromstring(self.chart().svg())
        data = json.loads(tree.get("data-chart"))
        dot = next(g for g in tree.iter("g") if g.get("data-tip") == "tip <1>")
        circle = dot.find("circle")
        assert float(circle.get("cx")) == pytest.approx((data["left"] + data["right"]) / 2, abs=0.1)
        assert float(circle.get("cy")) == pytest.approx((data["top"] + data["bottom"]) / 2, abs=0.1)
        path = tree.find("g[@data-at='0']/path").get("d")
        numbers = [float(v) for v in re.findall(r"[\d.]+", path)]
        assert numbers[:2] == pytest.approx([data["left"], data["top"]], abs=0.1)
        assert numbers[-2:] == pytest.approx([data["right"], data["bottom"]], abs=0.1)

    def test_the_name_of_a_rule_has_room(self):
        for x, anchored in ((1.0, False), (9.9, True)):
            chart = Chart("t", Axis("x", 0.0, 10.0), Axis("y", 0.0, 1.0))
            chart.rule(x, label="censored")
            text = next(t for t in ET.fromstring(chart.svg()).iter("text") if t.text == "censored")
            assert (text.get("text-anchor") == "end") == anchored

    def test_a_figure_has_its_table_and_escapes_all(self):
        table = CellTable("<numbers>", ["<h>"], [["<cell>"]])
        html = CaptionedChart(self.chart(), "<caption>", table).html()
        for word in ("h", "cell", "caption", "numbers"):
            assert f"<{word}>" not in html
            assert f"&lt;{word}&gt;" in html
