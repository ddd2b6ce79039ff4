"""``python -m cqrf``: the command line."""

from cqrf.cli import main

main()
