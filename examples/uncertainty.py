"""Three kinds of uncertainty on simulated data whose truth is known."""

import numpy as np
from _gallery import save
from matplotlib.figure import Figure

from cqrf import CensoredQuantileForest
from cqrf.datasets import make_aft


def main() -> None:
    data = make_aft(1500, rate=0.1, random_state=0)
    test = make_aft(2000, rate=0.1, random_state=1)
    fit, rest = slice(0, 1000), slice(1000, None)

    # Bounds of T: the forest grows from some rows and is calibrated with others.
    forest = CensoredQuantileForest(200, random_state=0)
    forest.fit(data.X[fit], data.time[fit], data.event[fit])
    forest.calibrate(data.X[rest], data.time[rest], data.event[rest])
    lower = forest.predict_lower_bound(test.X, coverage=0.9)
    print(f"T exceeds its conformal lower bound in {(test.latent >= lower).mean():.1%} of new rows")
    for method in ("forest", "conformal"):
        ends = forest.predict_interval(test.X, coverage=0.9, method=method, unreached="inf")
        inside = (ends[:, 0] <= test.latent) & (test.latent <= ends[:, 1])
        open_ends = np.isinf(ends[:, 1]).mean()
        print(f"90% {method} intervals hold {inside.mean():.1%}; {open_ends:.1%} have no upper end")

    # Standard errors of the quantiles themselves: groups of five trees share half of the rows.
    grouped = CensoredQuantileForest(400, ci_group_size=5, min_samples_leaf=20, random_state=0).fit(
        data.X, data.time, data.event
    )
    x = np.linspace(0.05, 1.95, 120)[:, None]
    median, std = grouped.predict(x, 0.5, return_std=True)
    confidence = grouped.predict_quantile_interval(x, 0.5, confidence=0.95)
    true = data.quantile(x, [0.5])[:, 0]
    held = (confidence[:, 0] <= true) & (true <= confidence[:, 1])
    print(f"standard error of the median at x = 1: {np.interp(1.0, x[:, 0], std):.3f}")
    print(f"its 95% confidence interval holds the true median at {held.mean():.0%} of the points")
    draw(x[:, 0], data, forest, median, confidence, true)


def draw(x, data, forest, median, confidence, true) -> None:
    blue, red, grey = "#0072B2", "#D55E00", "0.45"
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    seen = data.event
    left.scatter(data.X[seen, 0], data.time[seen], s=3, color="0.75", label="events")
    left.scatter(
        data.X[~seen, 0],
        data.time[~seen],
        s=9,
        facecolors="none",
        edgecolors="0.75",
        linewidths=0.5,
        label="censored",
    )
    points = x[:, None]
    band = forest.predict_interval(points, 0.9, method="conformal", unreached="clip")
    left.fill_between(x, *band.T, color=blue, alpha=0.2, label="90% conformal interval")
    bound = forest.predict_lower_bound(points, 0.9)
    left.plot(x, bound, color=blue, label="90% lower bound")
    left.plot(
        x, data.quantile(points, [0.1])[:, 0], "--", color="k", lw=1, label="true 10% quantile"
    )
    left.set(title="Where T will be", xlabel="x", ylabel="time", ylim=(0, 14))
    right.fill_between(x, *confidence.T, color=red, alpha=0.25, label="95% confidence interval")
    right.plot(x, median, color=red, label="median of the forest")
    right.plot(x, true, "--", color="k", lw=1, label="true median")
    right.set(title="Where the median is", xlabel="x", ylabel="time")
    for ax in (left, right):
        ax.legend(fontsize=8, frameon=False, loc="upper left")
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(colors=grey)
    save(figure, "uncertainty")


if __name__ == "__main__":
    main()
