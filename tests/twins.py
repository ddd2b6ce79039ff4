"""Slow NumPy twins of the fast kernels, to be read next to the paper.

Everything here is for one test point unless a shape says otherwise: `time` (n,), `event` (n,)
and `weights` (n,) belong to the training rows, and nothing is optimised. The labels in the
docstrings are those of the equations in the paper.
"""

import numpy as np

# Levels such as 1 - 0.1 and products of survival factors carry rounding; differences below
# this are no differences.
TOLERANCE = 1e-12


def leaf_weights(train_leaves, test_leaves, sample_weight=None):
    """Forest weights (m, n) from leaves (n, B) and (m, B); eqs. tree_weight and rf_weight.

    A tree whose leaf holds no training weight says nothing; the mean is over the others.
    """
    n, n_trees = train_leaves.shape
    m = test_leaves.shape[0]
    s = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    weights = np.zeros((m, n))
    for x in range(m):
        n_counted = 0
        for tree in range(n_trees):
            same_leaf = train_leaves[:, tree] == test_leaves[x, tree]
            if s[same_leaf].sum() > 0:
                weights[x] += s * same_leaf / s[same_leaf].sum()
                n_counted += 1
        weights[x] /= max(n_counted, 1)
    return weights


def kaplan_meier(time, event, weights):
    """Weighted Kaplan-Meier curves of T and of C: (times, d, c, R, S, G, P), each (K,).

    eq. Beran_rf, with events before censorings at the same time: the rows at risk of being
    censored at t_k are those that had no event at t_k.
    """
    time, event = np.asarray(time, dtype=float), np.asarray(event, dtype=bool)
    w = np.asarray(weights, dtype=float)
    w = w / w.sum()
    times = np.unique(time[w > 0])
    d = np.array([w[(time == t) & event].sum() for t in times])
    c = np.array([w[(time == t) & ~event].sum() for t in times])
    P = np.array([w[time > t].sum() for t in times])
    # R_k - d_k is written as c_k + P_k so that it is zero exactly when nobody is left.
    R = d + (c + P)
    S = np.cumprod(1 - d / R)
    G = np.cumprod(
        [1 - ck / (ck + pk) if ck + pk > 0 else 1.0 for ck, pk in zip(c, P, strict=True)]
    )
    return times, d, c, R, S, G, P


def step(times, values, initial=1.0):
    """The right-continuous step function with `values` at `times` and `initial` before them."""

    def evaluate(q):
        return np.concatenate([[initial], values])[np.searchsorted(times, q, side="right")]

    return evaluate


def censoring_curve_beran(time, event, weights):
    """G from the forest weights, as a function of q; eq. Beran_rf."""
    times, *_, G, _ = kaplan_meier(time, event, weights)
    return step(times, G)


def nearest(weights, k):
    """Indices of the k rows of largest positive weight; of equal weights the lower row first."""
    order = np.argsort(-np.asarray(weights, dtype=float), kind="stable")[:k]
    return order[np.asarray(weights)[order] > 0]


def censoring_curve_knn(time, event, weights, k):
    """G from the k nearest rows, each counting equally, as a function of q; eq. KM_kNN."""
    counts = np.zeros(len(time))
    counts[nearest(weights, k)] = 1
    return censoring_curve_beran(time, event, counts)


def censoring_curve_marginal(time, event):
    """G from all rows alike, ignoring x, as a function of q; eq. KM."""
    return censoring_curve_beran(time, event, np.ones(len(time)))


def kernel_weights(X, x, bandwidth):
    """Nadaraya-Watson weights W_i(x, a), Gaussian kernel on standardised covariates; eq. Beran."""
    X, x = np.asarray(X, dtype=float), np.asarray(x, dtype=float)
    distance = np.zeros(len(X))
    for j in range(X.shape[1]):
        scale = X[:, j].std()
        if scale > 0:  # a constant covariate tells no rows apart
            distance += ((x[j] - X[:, j]) / scale) ** 2
    # The constant cancels, and keeps the sum from vanishing far away from all rows.
    K = np.exp((distance.min() - distance) / (2 * bandwidth**2))
    return K / K.sum()


def censoring_curve_kernel(X, x, time, event, bandwidth):
    """G from Nadaraya-Watson weights, as a function of q; eq. Beran."""
    return censoring_curve_beran(time, event, kernel_weights(X, x, bandwidth))


def at_risk_after(q, time, weights):
    """P(q): the weight of the rows with Y > q."""
    w = np.asarray(weights, dtype=float)
    return (w / w.sum())[np.asarray(time) > q].sum()


def estimating_function(q, tau, time, event, weights, censoring_curve=None):
    """S_n(q; tau) = (1 - tau) G(q) - P(q); eq. final_fop.  G is Beran's unless given."""
    if censoring_curve is None:
        censoring_curve = censoring_curve_beran(time, event, weights)
    return (1 - tau) * censoring_curve(q) - at_risk_after(q, time, weights)


def _curves(time, event, weights, curve, k):
    """Candidates t, S(t) and G(t) there, the jumps (indices into t), the largest uncensored t.

    `curve` is "beran", "knn", "marginal" or any function G of q.
    """
    w = np.asarray(weights, dtype=float)
    if curve == "beran":
        t, d, _, _, S, G, _ = kaplan_meier(time, event, w)
        jumps = np.flatnonzero(d > 0)
        return t, S, G, jumps, t[jumps].max(initial=-np.inf)

    rows = np.flatnonzero(w > 0)
    if curve == "knn":
        rows, censoring = nearest(w, k), censoring_curve_knn(time, event, w, k)
    elif curve == "marginal":
        censoring = censoring_curve_marginal(time, event)
    else:
        censoring = curve
    t = np.unique(time[rows])
    G = np.array([censoring(q) for q in t])
    S = np.ones(len(t))
    jumps = []
    lowest = 1.0
    for j, q in enumerate(t):
        # P / G need not fall where G comes from other weights than P, and where it is constant
        # rounding must not make a jump of it.
        if G[j] > 0 and at_risk_after(q, time, w) / G[j] < lowest - TOLERANCE:
            lowest = at_risk_after(q, time, w) / G[j]
            jumps.append(j)
        S[j] = lowest
    return t, S, G, np.array(jumps, dtype=int), time[rows][event[rows]].max(initial=-np.inf)


def survival_curve(time, event, weights, curve="beran", k=None, censoring="right"):
    """P(T > t) as a function of t."""
    time, event = np.asarray(time, dtype=float), np.asarray(event, dtype=bool)
    if censoring == "left":
        t, S, *_ = _curves(-time, event, weights, curve, k)
        # P(T > t) = P(-T < -t) = 1 - S'((-t)-); the left limit leaves the times equal to -t out.
        return lambda q: 1 - np.concatenate([[1.0], S])[np.searchsorted(t, -q, side="left")]
    t, S, *_ = _curves(time, event, weights, curve, k)
    return step(t, S)


def _points(t, S, jumps, interpolation):
    """The curve that is inverted, as points (e, level) with falling levels."""
    e, after = t[jumps], S[jumps]
    if interpolation == "midpoint":
        before = np.concatenate([[1.0], after[:-1]])
        return e, (before + after) / 2
    return np.concatenate([[t[0]], e]), np.concatenate([[1.0], after])


def _survival_at(s, t, S, jumps, interpolation, before=False):
    """F(s), the probability of T > s (`before`: of T >= s), by the curve that is inverted."""
    behind = np.less if before else np.less_equal
    if len(jumps) == 0 or not behind(t[0], s):
        return 1.0
    if interpolation == "lower" or behind(t[jumps[-1]], s):
        return S[behind(t, s)][-1]
    e, level = _points(t, S, jumps, interpolation)
    if not behind(e[0], s):
        return 1.0
    j = np.flatnonzero(behind(e, s))[-1]
    return level[j] + (level[j + 1] - level[j]) * (s - e[j]) / (e[j + 1] - e[j])


def _inverse(u, t, S, jumps, interpolation):
    """Where the curve reaches the level u; it is known to reach it."""
    if interpolation == "lower":
        return next(t[j] for j in jumps if S[j] <= u + TOLERANCE)
    e, level = _points(t, S, jumps, interpolation)
    if u >= level[0]:
        return e[0]
    if u <= level[-1]:
        return e[-1]
    j = np.flatnonzero(level <= u)[0]
    return e[j - 1] + (e[j] - e[j - 1]) * (level[j - 1] - u) / (level[j - 1] - level[j])


def _first_minimum(values):
    return np.flatnonzero(values <= values.min() + TOLERANCE)[0]


def solve_quantile(
    time,
    event,
    weights,
    tau,
    curve="beran",
    k=None,
    solver="root",
    interpolation="midpoint",
    unreached="clip",
    censoring="right",
    conditional_after=None,
):
    """The tau-th quantile of T at one test point: the root of S_n (eq. final_fop).

    `solver="root"` is the first crossing, S(q) <= 1 - tau; `"argmin"` is the paper's algorithm
    with candidates no larger than the largest uncensored one. With `conditional_after` = s it is
    the quantile of T given T > s.
    """
    time, event = np.asarray(time, dtype=float), np.asarray(event, dtype=bool)
    sign = 1
    if censoring == "left":
        time, tau, sign = -time, 1 - tau, -1
    t, S, G, jumps, last_event = _curves(time, event, weights, curve, k)

    u = 1 - tau
    identified = True
    if conditional_after is not None:
        condition = sign * conditional_after
        # The literal rule knows no curve between the candidates.
        F = _survival_at(
            condition,
            t,
            S,
            jumps,
            "lower" if solver == "argmin" else interpolation,
            before=censoring == "left",
        )
        if censoring == "left":
            # Beyond all times the condition says nothing: what S leaves is not beyond it.
            F = 0.0 if condition > t[-1] else F
            # Given T' < s': P(T' > q | T' < s') = (S(q) - F) / (1 - F).
            u, identified = F + u * (1 - F), F < 1
        else:
            # P(T > q | T > s) = S(q) / F.
            u, identified = u * F, F > 0
    identified = identified and len(jumps) > 0 and S[-1] <= u + TOLERANCE
    if not identified and unreached != "clip":
        return {"nan": np.nan, "inf": sign * np.inf}[unreached]

    allowed = t <= last_event
    if solver == "argmin" and allowed.any():
        if curve == "beran":
            S_n = G * (u - S)
        else:
            S_n = u * G - np.array([at_risk_after(q, time, weights) for q in t])
        answer = t[_first_minimum(np.abs(S_n[allowed]))]
    elif solver == "root" and identified:
        answer = _inverse(u, t, S, jumps, interpolation)
    else:
        answer = t[-1]
    if conditional_after is None:
        return sign * answer
    return max(conditional_after, sign * answer)


def restricted_mean(time, event, weights, horizon):
    """E[min(T, h)] = t_1 + integral of S from t_1 to h."""
    t, *_, S, _, _ = kaplan_meier(time, event, weights)
    if horizon <= t[0]:
        return float(horizon)
    mean = t[0]
    ends = np.append(t[1:], np.inf)
    for start, end, height in zip(t, ends, S, strict=True):
        mean += height * max(0.0, min(end, horizon) - start)
    return mean


def area_mean(survival, start, horizon):
    """E[min(T, h)] from the function P(T > t): a time, and the area from there to h.

    What the function leaves below the start, P(T <= start), counts as the start.
    """
    if horizon <= start:
        return float(horizon)
    inside = survival.x[(survival.x > start) & (survival.x < horizon)]
    times = np.concatenate([[start], inside, [horizon]])
    return start + survival(times[:-1]) @ np.diff(times)


def influence(t, time, event, weights):
    """What one more unit of weight on each weighted row does to S(t), (n,): a numerical derivative.

    The weights are normalised after the addition, as those of a forest are.
    """

    def survival(w):
        times, *_, S, _, _ = kaplan_meier(time, event, w)
        return step(times, S)(t)

    w = np.asarray(weights, dtype=float) / np.sum(weights)
    small = 1e-6
    at, psi = survival(w), np.zeros(len(w))
    for i in np.flatnonzero(w):
        more = w.copy()
        more[i] += small
        psi[i] = (survival(more) - at) / small
    return psi


def little_bags(tree_weights, group_size, time, event, t):
    """Mean squares between and within groups (V_b, N) of S(t), from weights (B, n) of the trees."""
    psi = influence(t, time, event, tree_weights.mean(axis=0))
    U = tree_weights @ psi
    groups = U.reshape(-1, group_size)
    between = np.mean(groups.mean(axis=1) ** 2)
    return between, (np.mean(groups**2) - between) / (group_size - 1)


def calibration(level, weight, event):
    """P(U <= a) and P(U > a) at the levels of the events, the new row counted as worst for each.

    level (n,) is each row's own; weight(i, a) is what row i stands for at level a. The rows of a
    risk set are those that come later, equal levels one after the other, events first.
    """
    order = np.lexsort((~event, level))
    below, above = [], []
    low = high = 1.0
    for k, row in enumerate(order):
        if not event[row]:
            continue
        w = np.array([weight(i, level[row]) for i in order[k:]])
        if not below:
            low *= 1 - w.mean() / (w.sum() + w.mean())
        low *= 1 - w[0] / w.sum()
        high *= 1 - w[0] / (w.sum() + w.mean())
        below.append(1 - low)
        above.append(high)
    return level[order][event[order]], np.array(below), np.array(above)


def censoring_before(time, event, weights=None):
    """G(q-) of the Kaplan-Meier curve of the censoring time, as a function of q."""
    t, *_, G, _ = kaplan_meier(time, event, np.ones(len(time)) if weights is None else weights)
    return lambda q: ([1.0, *G[t < q]])[-1]


def horizon(time, event, weights=None):
    """The last time up to which a right censored record says enough."""
    w = np.ones(len(time)) if weights is None else np.asarray(weights, dtype=float)
    time, event, w = time[w > 0], event[w > 0], w[w > 0]
    if event.all():
        return time.max()
    before, last = censoring_before(time, event, w), None
    for t in np.unique(time):
        share = w[time >= t].sum() / w.sum()
        rows = np.sum(time >= t)
        few = rows < 10 if len(time) >= 40 else rows < len(time) / 4
        if share >= 0.05 and not few and before(t) >= 0.1:
            last = t
    return last


def cut_weight(y, seen, h, before):
    """Weight of a row in a mean of min(T, h); before(t) is G(t-)."""
    if y >= h:
        return 1 / before(h)
    return 1 / before(y) if seen else 0.0


def known_by(t, y, seen, before, including=True):
    """(weight, whether T has come) of a row at a time t: Graf's weights.

    Events come before censorings: a row that is censored at t is later. Without `including`, so is
    an event at t.
    """
    if y < t or (y == t and seen and including):
        return (1 / before(y) if seen else 0.0), True
    return 1 / before(t), False


def integral(values, times):
    """Mean over time of the values (g,) at times (g,), by trapezoids."""
    area = 0.0
    for k in range(1, len(times)):
        area += (values[k - 1] + values[k]) / 2 * (times[k] - times[k - 1])
    return area / (times[-1] - times[0])


def brier(time, event, survival, t, before):
    """Squared errors (m,) of P(T > t), weighted."""
    errors = []
    for y, seen, s in zip(time, event, survival, strict=True):
        weight, come = known_by(t, y, seen, before)
        errors.append(weight * (s - (not come)) ** 2)
    return np.array(errors)
