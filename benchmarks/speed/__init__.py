"""Speed and memory beside the neighbours: what `make bench` measures, stores and draws."""
