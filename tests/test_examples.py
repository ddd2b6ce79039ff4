"""The scripts of examples/ run, and what they print is what they promise."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def run(script: str, *arguments: str, cwd: Path) -> str:
    command = [sys.executable, "-W", "error", str(ROOT / "examples" / script), *arguments]
    done = subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True)
    return done.stdout


def test_uncertainty(tmp_path: Path) -> None:
    text = run("uncertainty.py", str(tmp_path / "picture.png"), cwd=tmp_path)
    shares = [
        float(share)
        for share in re.findall(r"([0-9.]+)% of new rows|hold ([0-9.]+)%", text)
        for share in share
        if share
    ]
    assert len(shares) == 3
    # 500 calibration rows and 2,000 new ones: three standard errors are five percent.
    assert all(85.0 < share < 95.0 for share in shares)
    pytest.importorskip("matplotlib")
    assert (tmp_path / "picture.png").stat().st_size > 10_000


def test_guide_runs(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "guide" / "uncertainty.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    assert len(blocks) == 2
    subprocess.run(
        [sys.executable, "-W", "error", "-c", "\n".join(blocks)], cwd=tmp_path, check=True
    )
