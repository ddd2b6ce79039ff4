"""What a notebook shows: a fitted forest, and the explanation of a prediction."""

import numpy as np
from _gallery import folder

from cqrf import CensoredQuantileForest
from cqrf.datasets import load_congress
from cqrf.model.summary import summary_html

data = load_congress()
new = np.arange(len(data.time)) == 901  # the row to predict, kept from fit
forest = CensoredQuantileForest(300, default_quantiles=[0.1, 0.5, 0.97], random_state=0)
forest.fit(data.X[~new], data.time[~new], data.event[~new])

# In a notebook, `forest` and `explanation` as the last line of a cell show these.
explanation = forest.explain(data.X[new])
(folder() / "summary.html").write_text(
    summary_html(forest.model_, "CensoredQuantileForest, fitted") + "\n"
)
(folder() / "explanation.html").write_text(explanation._repr_html_() + "\n")
