"""A fitted forest, and what can be asked of it."""
