"""Print requirements that pyproject.toml lists, for pip.

python tools/requirements.py run docs plot
python tools/requirements.py --lowest run frames

A name is a dependency group, an extra, ``run`` (the package's dependencies) or ``build``. pip reads
groups by itself since 25.1; the pip of a new virtual environment is that of its Python. With
``--lowest``, the least version of each is asked for.
"""

from __future__ import annotations

import argparse
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def listed(name: str, table: dict[str, Any]) -> list[str]:
    """Return the requirements under a name, with those of the groups that it includes."""
    lists = {
        "run": table["project"]["dependencies"],
        "build": table["build-system"]["requires"],
        **table["project"]["optional-dependencies"],
        **table["dependency-groups"],
    }
    if name not in lists:
        raise SystemExit(f"pyproject.toml lists nothing under {name!r}")
    found: list[str] = []
    for entry in lists[name]:
        found += [entry] if isinstance(entry, str) else listed(entry["include-group"], table)
    return found


def main() -> None:
    """Print the requirements of all names, each once."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--lowest", action="store_true", help="the least version of each")
    parser.add_argument("names", nargs="+")
    options = parser.parse_args()
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())
    found = [entry for name in options.names for entry in listed(name, table)]
    if options.lowest:
        found = [entry.replace(">=", "==") for entry in found]
    print(*dict.fromkeys(found))


if __name__ == "__main__":
    main()
