"""A local page on which a row's features are moved and its survival curve follows."""
