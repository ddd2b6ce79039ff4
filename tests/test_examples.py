"""The gallery runs, draws what the user guide shows, and the guide quotes what it prints."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("pandas")
from matplotlib import pyplot as plt

ROOT = Path(__file__).parents[1]
GUIDE = sorted((ROOT / "docs" / "guide").glob("*.md"))
SCRIPTS = sorted(
    script
    for script in (ROOT / "examples").glob("*.py")
    if script.stem not in ("_gallery", "demo", "quickstart")
)


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
@pytest.mark.filterwarnings("error")
def test_gallery(script, tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(script.parent))
    monkeypatch.setattr(sys, "argv", [str(script), "--output", str(tmp_path)])
    try:
        runpy.run_path(str(script), run_name="__main__")
    finally:
        plt.close("all")
    page = ROOT / "docs" / "guide" / f"{script.stem}.md"
    text = page.read_text()
    shown = set(re.findall(r"\.\./images/([\w.]+)", text))
    assert shown == {path.name for path in tmp_path.iterdir()}
    printed = capsys.readouterr().out
    for quoted in re.findall(r"^```text\n(.*?)\n```", text, re.M | re.S):
        assert quoted in printed


@pytest.mark.parametrize("page", GUIDE, ids=lambda page: page.stem)
def test_a_page_of_the_guide_has_its_script_and_its_pictures(page):
    text = page.read_text()
    # Pictures of pages and terminals are screenshots (`make screenshots`).
    if page.stem not in ("command_line", "report"):
        assert f"../../examples/{page.stem}.py" in text
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)|^:file: (.*)$", text, re.M):
        assert (page.parent / (link[0] or link[1])).exists(), link


@pytest.mark.parametrize("page", GUIDE, ids=lambda page: page.stem)
def test_code_in_a_page_of_the_guide_runs(page, tmp_path):
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S)
    if blocks:
        command = [sys.executable, "-W", "error", "-c", "\n".join(blocks)]
        subprocess.run(command, cwd=tmp_path, check=True)
