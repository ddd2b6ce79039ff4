"""What a forest is given: outcomes and features, checked, and turned into arrays."""
