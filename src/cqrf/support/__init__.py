"""What all rooms share and what knows nothing of forests: checks, progress, words, colours."""
