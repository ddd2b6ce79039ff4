"""Model files: the container, its header and its arrays."""
