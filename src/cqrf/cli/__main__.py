"""``python -m cqrf.cli``: the command line."""

from cqrf.cli import main

main()
