"""``python -m cqrf``: the command line."""

from cqrf.app.cli import main

main()
