"""Draw the pictures of the pages in docs/images: the report and `cqrf explore`, wide and narrow.

    python docs/screenshots.py

Needs Chromium and chromedriver, and the packages of the test extra.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from browser import close_browser, open_browser  # noqa: E402

from cqrf import CensoredQuantileForest  # noqa: E402
from cqrf.app.explore.explorer import Explorer  # noqa: E402
from cqrf.app.explore.server import ExploreServer  # noqa: E402
from cqrf.datasets import load_congress  # noqa: E402

IMAGES = ROOT / "docs" / "images"
WIDE, NARROW = (1200, 1500), (500, 1100)


def main() -> None:
    data = load_congress()
    forest = CensoredQuantileForest(1000, n_jobs=-1, random_state=0)
    forest.fit(data.X, data.time, data.event)
    report = forest.report(
        data.X, data.time, data.event, title="Years in Congress", time_name="years"
    )
    browser = open_browser()
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "report.html")
            report.save(path)
            browser.get(path.as_uri())
            take(browser, "report.png", WIDE)
            take(browser, "report_fit.png", WIDE, anchor="fit")
            take(browser, "report_phone.png", NARROW, anchor="effects")
        with ExploreServer(Explorer(forest, "Years in Congress", "years", 20 << 20)) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            browser.get(server.url)
            take(browser, "explore.png", (1200, 980))
            take(browser, "explore_phone.png", NARROW)
            server.shutdown()
    finally:
        close_browser(browser)


def take(browser: Any, name: str, size: tuple[int, int], anchor: str = "") -> None:
    """Take a picture of the page at a size, from an anchor on."""
    browser.set_window_size(*size)
    browser.execute_script(
        "document.documentElement.style.scrollbarWidth = 'none';"
        "window.scrollTo(0, arguments[0] ? document.getElementById(arguments[0]).offsetTop : 0)",
        anchor,
    )
    browser.save_screenshot(str(IMAGES / name))
    print(IMAGES.relative_to(ROOT) / name)


if __name__ == "__main__":
    main()
