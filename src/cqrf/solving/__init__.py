"""From weights to answers: curves, the estimating equation, quantiles."""
