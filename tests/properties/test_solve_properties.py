"""Properties of the way from weights to answers that hold for any data."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import cqrf

# Whole numbers keep ties frequent, sums of times exact and the steps of the curve well above
# rounding; binary fractions as levels make 1 - (1 - tau) exact.
LEVELS = [1 / 64, 1 / 8, 1 / 4, 3 / 8, 1 / 2, 5 / 8, 3 / 4, 7 / 8, 63 / 64]
fast = settings(max_examples=60, deadline=None)


@st.composite
def samples(draw):
    """(weights (m, n), time (n,), event (n,))."""
    n = draw(st.integers(1, 12))
    m = draw(st.integers(1, 3))
    time = draw(st.lists(st.integers(-20, 20), min_size=n, max_size=n))
    event = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    event[draw(st.integers(0, n - 1))] = True
    weights = draw(
        st.lists(st.lists(st.integers(0, 5), min_size=n, max_size=n), min_size=m, max_size=m)
    )
    weights = np.array(weights, dtype=float)
    weights[weights.sum(axis=1) == 0, draw(st.integers(0, n - 1))] = 1.0
    return weights, np.array(time, dtype=float), np.array(event)


@st.composite
def options(draw, curves=("beran", "knn", "marginal"), n_neighbors=1):
    """Keyword arguments of `solve_quantiles`."""
    curve = draw(st.sampled_from(curves))
    chosen = {
        "censoring": draw(st.sampled_from(["right", "left"])),
        "censoring_curve": curve,
        "solver": draw(st.sampled_from(["root", "argmin"])),
        "interpolation": draw(st.sampled_from(["midpoint", "lower", "linear"])),
    }
    return chosen | ({"n_neighbors": n_neighbors} if curve == "knn" else {})


def neighbours(chosen, n):
    """The same options with a number of neighbours that suits n rows."""
    return chosen | ({"n_neighbors": (n + 1) // 2} if "n_neighbors" in chosen else {})


def curve_options(chosen):
    return {
        key: chosen[key] for key in ("censoring", "censoring_curve", "n_neighbors") if key in chosen
    }


@fast
@given(samples(), options())
def test_curves_fall_from_one_to_zero(sample, chosen):
    weights, time, event = sample
    chosen = curve_options(neighbours(chosen, len(time)))
    for survival in cqrf.survival_curves(weights, time, event, **chosen):
        values = np.concatenate([[survival.initial], survival.y])
        assert (np.diff(values) <= 0).all()
        assert values.max() <= 1
        assert values.min() >= 0
        assert (np.diff(survival.x) > 0).all()
        if chosen["censoring"] == "right":
            assert survival.initial == 1
        else:
            assert values[-1] == 0


@fast
@given(samples(), options())
def test_quantiles_grow_with_the_level(sample, chosen):
    weights, time, event = sample
    chosen = neighbours(chosen, len(time))
    if chosen["solver"] == "argmin":
        # The literal rule may jump to the tail and back: it makes no such promise.
        chosen["solver"] = "root"
    answer = cqrf.solve_quantiles(weights, time, event, LEVELS, **chosen)
    assert (np.diff(answer, axis=1) >= -1e-12).all()


@fast
@given(samples(), options())
def test_quantiles_lie_within_the_weighted_times(sample, chosen):
    weights, time, event = sample
    chosen = neighbours(chosen, len(time))
    answer = cqrf.solve_quantiles(weights, time, event, LEVELS, **chosen)
    for row, quantiles in zip(weights, answer, strict=True):
        assert (quantiles >= time[row > 0].min()).all()
        assert (quantiles <= time[row > 0].max()).all()
        if chosen["solver"] == "argmin" or chosen["interpolation"] == "lower":
            assert np.isin(quantiles, time[row > 0]).all()


@fast
@given(samples(), options(), st.integers(-30, 30))
def test_scaling_time_scales_the_answer(sample, chosen, exponent):
    weights, time, event = sample
    chosen = neighbours(chosen, len(time))
    factor = 2.0**exponent
    np.testing.assert_array_equal(
        cqrf.solve_quantiles(weights, factor * time, event, LEVELS, **chosen),
        factor * cqrf.solve_quantiles(weights, time, event, LEVELS, **chosen),
    )


@fast
@given(samples(), options(), st.integers(-1000, 1000))
def test_shifting_time_shifts_the_answer(sample, chosen, shift):
    weights, time, event = sample
    chosen = neighbours(chosen, len(time))
    np.testing.assert_allclose(
        cqrf.solve_quantiles(weights, time + shift, event, LEVELS, **chosen),
        cqrf.solve_quantiles(weights, time, event, LEVELS, **chosen) + shift,
        rtol=0,
        atol=1e-12 * (np.abs(time).max() + abs(shift) + 1),
    )


# Among equal weights the nearest neighbours are chosen by row, so they depend on the order.
@fast
@given(samples(), options(curves=("beran", "marginal")), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(sample, chosen, random):
    weights, time, event = sample
    order = list(range(len(time)))
    random.shuffle(order)
    np.testing.assert_allclose(
        cqrf.solve_quantiles(weights[:, order], time[order], event[order], LEVELS, **chosen),
        cqrf.solve_quantiles(weights, time, event, LEVELS, **chosen),
        rtol=0,
        atol=1e-12 * 20,
    )


@fast
@given(samples(), options(), st.sampled_from(["clip", "nan", "inf"]))
def test_left_censoring_is_right_censoring_of_the_negated_data(sample, chosen, unreached):
    weights, time, event = sample
    chosen = neighbours(chosen, len(time)) | {"unreached": unreached}
    mirrored = [1 - level for level in LEVELS]
    np.testing.assert_array_equal(
        cqrf.solve_quantiles(weights, time, event, LEVELS, **(chosen | {"censoring": "left"})),
        -cqrf.solve_quantiles(weights, -time, event, mirrored, **(chosen | {"censoring": "right"})),
    )


@fast
@given(samples(), options())
def test_left_curves_are_right_curves_of_the_negated_data(sample, chosen):
    weights, time, event = sample
    chosen = curve_options(neighbours(chosen, len(time)))
    left = cqrf.survival_curves(weights, time, event, **(chosen | {"censoring": "left"}))
    right = cqrf.survival_curves(weights, -time, event, **(chosen | {"censoring": "right"}))
    # Between the whole numbers there is no jump and no difference between limits.
    grid = np.arange(-22, 22) + 0.5
    for ours, mirrored in zip(left, right, strict=True):
        np.testing.assert_array_equal(ours(grid), 1 - mirrored(-grid))


@fast
@given(samples(), options(curves=("beran", "marginal")), st.floats(1e-6, 1e6))
def test_scaling_weights_changes_nothing(sample, chosen, factor):
    weights, time, event = sample
    np.testing.assert_allclose(
        cqrf.solve_quantiles(factor * weights, time, event, LEVELS, **chosen),
        cqrf.solve_quantiles(weights, time, event, LEVELS, **chosen),
        rtol=0,
        atol=1e-12 * 20,
    )


@fast
@given(samples(), options(), st.integers(-21, 21))
def test_conditional_quantiles_are_not_below_the_condition(sample, chosen, after):
    weights, time, event = sample
    chosen = neighbours(chosen, len(time)) | {"censoring": "right", "solver": "root"}
    answer = cqrf.solve_quantiles(
        weights, time, event, LEVELS, conditional_after=float(after), **chosen
    )
    unconditional = cqrf.solve_quantiles(weights, time, event, LEVELS, **chosen)
    assert (answer >= after).all()
    # Who is known to be alive at s does not die earlier than one of whom nothing is known.
    assert (answer >= unconditional - 1e-12 * 20).all()
    if after < time.min():
        np.testing.assert_allclose(answer, unconditional, rtol=0, atol=1e-12 * 20)


@fast
@given(samples(), options())
def test_marks_replace_exactly_the_answers_that_are_not_identified(sample, chosen):
    weights, time, event = sample
    chosen = neighbours(chosen, len(time))
    clip, nan, inf = (
        cqrf.solve_quantiles(weights, time, event, LEVELS, unreached=unreached, **chosen)
        for unreached in ("clip", "nan", "inf")
    )
    assert np.isfinite(clip).all()
    marked = np.isnan(nan)
    np.testing.assert_array_equal(marked, np.isinf(inf))
    np.testing.assert_array_equal(clip[~marked], nan[~marked])
    np.testing.assert_array_equal(clip[~marked], inf[~marked])
    right = chosen["censoring"] == "right"
    assert (inf[marked] == (np.inf if right else -np.inf)).all()
    curves = cqrf.survival_curves(weights, time, event, **curve_options(chosen))
    for survival, row in zip(curves, marked, strict=True):
        # What never happens within the data: the end of the curve that is not reached.
        if right:
            expected = survival(time.max()) > 1 - np.array(LEVELS) + 1e-12
        else:
            expected = survival.initial < 1 - np.array(LEVELS) - 1e-12
        np.testing.assert_array_equal(row, expected)
