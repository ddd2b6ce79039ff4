"""What an analyst asks of a fitted forest: which features and rows matter, and how it looks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from cqrf._answers import FittedForest
from cqrf.model.explain import Explanation, explain
from cqrf.model.importance import Importance, oob_importance, split_importance
from cqrf.model.summary import notebook_html

if TYPE_CHECKING:
    from cqrf.app.report import Report


class ExplainedForest(FittedForest):
    """A forest whose answers can be questioned."""

    def oob_importance(
        self,
        quantiles: float | ArrayLike | None = None,
        *,
        groups: Mapping[str, Any] | None = None,
        n_repeats: int = 5,
        random_state: Any = None,
        horizon: float | str = "auto",
    ) -> Importance:
        r"""Measure how much worse predictions become when a feature is permuted.

        The values of a feature are shuffled among the training rows, and the rows are predicted
        anew by the trees that did not draw them. Its importance is what `oob_score` loses: the
        increase of the integrated Brier score up to the horizon h, as a share of that of the
        Kaplan-Meier curve. For given quantiles it is the increase of

        .. math::

            \frac{\sum_i v_i\, \rho_\tau(\min(Y_i, h) - \min(\hat q_\tau(X_i), h))}{\sum_i v_i},

        the loss of `cqrf.metrics.censored_pinball_loss`, for each of them.

        Parameters
        ----------
        quantiles : float or array-like of shape (q,), optional
            Levels in (0, 1); by default whole survival curves are scored.
        groups : mapping of str to list of columns, optional
            Columns, by position or name, that are shuffled together: for features that say the
            same thing, each of which would be spared alone. By default each column by itself.
        n_repeats : int, default=5
            How often each is shuffled.
        random_state : int, RandomState or None, default=None
            Seed of the permutations.
        horizon : "auto" or float, default="auto"
            The horizon h; "auto" is `horizon_`.

        Returns
        -------
        Importance
            ``mean`` and ``std_error`` of shape (p,), or (p, q) for several quantiles, with p the
            number of features or groups; ``repeats`` with one more axis in front.

        Notes
        -----
        Only what changes is computed again: trees that did not draw a row, and of their paths what
        follows the first node that asks for a permuted feature. The standard error of the mean
        :math:`\bar d` of the increases :math:`d_i` of the rows, averaged over repeats, is
        :math:`\sqrt{\sum_i v_i^2 (d_i - \bar d)^2} / \sum_i v_i`; it tells what other rows would
        have shown of the same forest.
        """
        return oob_importance(self, quantiles, groups, n_repeats, random_state, horizon)

    def explain(self, x: Any, quantiles: float | ArrayLike | None = None) -> Explanation:
        """Tell which training rows carry the prediction of one row, and how far it reaches.

        Parameters
        ----------
        x : array-like of shape (p,) or (1, p), pandas Series, or frame of one row
            The test point.
        quantiles : float or array-like of shape (q,), optional
            Levels in (0, 1); `default_quantiles` if not given.

        Returns
        -------
        Explanation
            Prints as a table, and shows as one in a notebook.
        """
        return explain(self, x, quantiles)

    def split_importance(self) -> NDArray[np.float64]:
        r"""Measure how often training rows are split by each feature.

        .. math:: I_j = \frac{\sum_{\text{splits by } j} n(\text{node})}
                             {\sum_{\text{all splits}} n(\text{node})},

        with :math:`n` the number of training rows that fill the leaves below a node. It costs
        nothing and knows no quantiles; it favours features with many distinct values.

        Returns
        -------
        ndarray of shape (p,), float64
            Shares that sum to one; all zero if no tree has a split.
        """
        check_is_fitted(self)
        return split_importance(self.trees_)

    def report(
        self,
        X: Any,
        y: Any,
        event: ArrayLike | None = None,
        *,
        title: str = "Report",
        time_name: str | None = None,
        horizon: float | str = "auto",
        verbose: int = 0,
    ) -> Report:
        """Make a page on the data, the fit, the features and their effects, and what to beware of.

        Scores are out-of-bag if `X` and `y` are what the forest was fitted to, and those of new
        rows otherwise. Displayed inline in a notebook.

        Parameters
        ----------
        X : array-like or frame of shape (n, p)
            Features, in the form that `fit` was given.
        y, event
            Outcomes, in any form that `fit` takes.
        title : str
            Title of the page.
        time_name : str, optional
            What the outcome is called, such as ``"days"``; by default ``"time"``, or ``"value"``
            under left censoring.
        horizon : "auto" or float, default="auto"
            The time up to which is scored; "auto" is `horizon_`.
        verbose : int, default=0
            Whether to show a progress bar.

        Returns
        -------
        Report
            With ``save(path)``, ``html`` and ``warnings``.
        """
        # What a page needs is loaded with the first page, not with every forest.
        from cqrf.app.report import make_report

        check_is_fitted(self)
        return make_report(
            self,
            X,
            y,
            event,
            title=title,
            time_name=time_name,
            horizon=horizon,
            verbose=verbose,
        )

    def _repr_html_inner(self) -> str:
        return notebook_html(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] = notebook_html(self)
        return bundle
