"""What pages and pictures call an outcome: a time until an event, or a value above a limit.

Right-censored times are spoken of as times and events. Left-censored outcomes are measurements,
some of them below a detection limit; nothing happens to them, and nothing survives.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Words:
    """The words for one kind of outcome.

    Braces stand for the name of the outcome, such as days, or for a number where an attribute
    says so.

    Attributes
    ----------
    outcome, outcomes : str
        What is predicted, in the singular and in the plural.
    quantile, quantiles : str
        What a quantile is called behind its level: time in "the 10% time".
    bound : str
        Stands before the bound of a quantile that is not identified: "beyond 52".
    scored : str
        How far is scored; braces stand for the horizon.
    share_before : str
        Head of a column: share of the outcomes below a quantile.
    event, events : str
        A row whose outcome is known, and many of them.
    events_counted, events_seen : str
        The same behind their number, and below it.
    censored, share_censored : str
        The other rows, and their share.
    event_at, censored_at : str
        Outcome of one row; braces stand for the number.
    observed : str
        What is known of every row: an outcome or a limit.
    curve, share_beyond : str
        The curve P(T > t), and the label of its axis.
    event_curve, censoring_curve, two_curves, curves_caption, probability : str
        The two Kaplan-Meier curves of all rows: their names, their title, their caption, and the
        label of their axis.
    rows_caption, one_bound : str
        Sentences on the chart of rows by outcome, and on what a censored row tells.
    rising : str
        Rows in the order of their quantiles: "early to late".
    passed, passed_title, passed_caption : str
        Calibration: the label of the axis, the title and the caption.
    effect : str
        What the chart of an effect shows; braces stand for the name of the outcome.
    row_intro : str
        Sentence above the controls of ``cqrf explore``.
    row_tile : str
        Name of a quantile; the first braces stand for the outcome, the second for the level.
    share : str
        Head of a column of levels.
    censoring : str
        What hides some of the outcomes.
    few_events, heavily_censored, out_of_reach, far_quantiles, other_outcomes, other_censoring,
    missing_later, censoring_differs, known_before, assumption : str
        Parts of warnings and of assumptions.
    """

    outcome: str
    outcomes: str
    quantile: str
    quantiles: str
    bound: str
    scored: str
    within: str
    past: str
    share_before: str
    event: str
    events: str
    events_counted: str
    events_seen: str
    censored: str
    share_censored: str
    event_at: str
    censored_at: str
    observed: str
    curve: str
    share_beyond: str
    event_curve: str
    censoring_curve: str
    two_curves: str
    curves_caption: str
    probability: str
    rows_caption: str
    one_bound: str
    rising: str
    passed: str
    passed_title: str
    passed_caption: str
    effect: str
    row_intro: str
    row_tile: str
    share: str
    censoring: str
    few_events: str
    heavily_censored: str
    out_of_reach: str
    far_quantiles: str
    other_outcomes: str
    other_censoring: str
    missing_later: str
    censoring_differs: str
    known_before: str
    assumption: str


TIMES = Words(
    outcome="time",
    outcomes="times",
    quantile="time",
    quantiles="times",
    bound="beyond",
    scored="scored up to {}",
    within="within the horizon",
    past="beyond the horizon",
    share_before="events before",
    event="event",
    events="events",
    events_counted="events",
    events_seen="events seen",
    censored="censored",
    share_censored="share censored",
    event_at="event at {}",
    censored_at="censored, beyond {}",
    observed="observed time",
    curve="survival curve",
    share_beyond="share still without event",
    event_curve="event",
    censoring_curve="censoring",
    two_curves="Kaplan-Meier curves of the time to the event and of the time to censoring",
    curves_caption="Where the censoring curve is low, few rows are left to learn from.",
    probability="probability to lie beyond",
    rows_caption="Rows by their observed time, the censored ones on top of the events.",
    one_bound="A censored row tells only a lower bound of its {}. Where most rows are censored, "
    "less can be said.",
    rising="early to late",
    passed="had their event before it",
    passed_title="Share of rows with their event before the predicted quantile, by quantile",
    passed_caption="of the predicted 10% times, 10% should have passed.",
    effect="the {} by which 10, 50 and 90% would have had their event",
    row_intro="Move the features of a row, and its survival curve follows, with the times by which "
    "10, 50 and 90% of such rows have had their event.",
    row_tile="{} until {}",
    share="share with their event",
    censoring="censoring",
    few_events="Few events",
    heavily_censored="Heavy censoring",
    out_of_reach="Too many such rows are censored before it.",
    far_quantiles="Late quantiles",
    other_outcomes="have other times",
    other_censoring="are censored at another rate",
    missing_later="if it is filled in only after the event, the forest cheats.",
    censoring_differs="Follow-up differs",
    known_before="among rows with an event. Was it known before the event?",
    assumption="Given the features, being censored says nothing about the time itself: among rows "
    "that are alike, the censored ones would not have had systematically larger times than the "
    "others. No data can prove this; think about why rows are censored.",
)

VALUES = Words(
    outcome="value",
    outcomes="values",
    quantile="quantile",
    quantiles="quantiles",
    bound="below",
    scored="scored down to {}",
    within="above the lowest value scored",
    past="below the lowest value scored",
    share_before="values below",
    event="measured",
    events="measured",
    events_counted="measured values",
    events_seen="values measured",
    censored="below the limit",
    share_censored="share below the limit",
    event_at="{}",
    censored_at="below the limit of {}",
    observed="measured value or limit",
    curve="curve",
    share_beyond="share above",
    event_curve="value",
    censoring_curve="limit",
    two_curves="Kaplan-Meier curves of the values and of the detection limits",
    curves_caption="Where the curve of the limits is low, few rows could be measured so far down.",
    probability="probability to lie below",
    rows_caption="Rows by their measured value or their detection limit, those below the limit on "
    "top.",
    one_bound="A row below its detection limit tells only an upper bound of its {}. Where most "
    "rows are below their limit, less can be said.",
    rising="low to high",
    passed="lie below it",
    passed_title="Share of rows below the predicted quantile, by quantile",
    passed_caption="below the predicted 10% quantiles, 10% of the rows should lie.",
    effect="the {} below which 10, 50 and 90% would lie",
    row_intro="Move the features of a row, and the curve of its value follows, with the values "
    "below which 10, 50 and 90% of such rows lie.",
    row_tile="{}, {} quantile",
    share="share below",
    censoring="the detection limit",
    few_events="Few measured values",
    heavily_censored="Mostly below the limit",
    out_of_reach="Too many such rows have a detection limit above it.",
    far_quantiles="Low quantiles",
    other_outcomes="have other values",
    other_censoring="lie below the limit at another rate",
    missing_later="if it is filled in only after the measurement, the forest cheats.",
    censoring_differs="Limits differ",
    known_before="among measured rows. Was it known before the measurement?",
    assumption="Given the features, the detection limit says nothing about the value itself: among "
    "rows that are alike, those with high limits would not have had systematically smaller values "
    "than the others. No data can prove this; think about how limits came about.",
)


def words_for(censoring: str) -> Words:
    """Words for the outcomes of an estimator with this parameter."""
    return VALUES if censoring == "left" else TIMES
