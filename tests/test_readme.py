"""What README.md shows runs, and what it points to exists."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = ["README.md", "DEVELOPING.md", "CHANGELOG.md"]


def python_blocks() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)


def test_quick_start_is_the_example() -> None:
    example = (ROOT / "examples" / "quickstart.py").read_text()
    docstring = ast.get_docstring(ast.parse(example), clean=False)
    assert python_blocks()[0] == example.removeprefix(f'"""{docstring}"""\n\n')


def test_python_blocks_run(tmp_path: Path) -> None:
    # One after the other in a process of its own, as a reader would paste them.
    pytest.importorskip("pandas")
    subprocess.run(
        [sys.executable, "-W", "error", "-c", "\n".join(python_blocks())],
        cwd=tmp_path,
        check=True,
        stdout=subprocess.DEVNULL,
    )


@pytest.mark.parametrize("page", PAGES)
def test_links_within_the_repository_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text()
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_commands_of_the_readme_are_in_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.M))
    text = "".join((ROOT / page).read_text() for page in PAGES)
    named = set(re.findall(r"(?:^|`)make ([a-z-]+)", text, re.M))
    assert named - targets == set()
