"""The pages in a real browser: `cqrf explore` and the report, as a user meets them."""

import os
import signal

import pytest
import shell
from browser import browser as browser
from browser import complaints, requested, wait_until

from cqrf import CensoredQuantileForest
from cqrf.datasets import load_congress

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def data():
    return load_congress()


@pytest.fixture(scope="module")
def forest(data):
    return CensoredQuantileForest(40, random_state=0).fit(data.X, data.time, data.event)


@pytest.fixture(scope="module")
def address(forest, tmp_path_factory):
    """A running `cqrf explore`, started as a user starts it; ended by Ctrl-C."""
    path = tmp_path_factory.mktemp("explore") / "congress.cqrf"
    forest.save(path)
    command = shell.start("explore", path, "--no-browser", "--max-upload", 1)
    yield command.stdout.readline().decode().strip()
    command.send_signal(signal.SIGINT)
    assert command.wait(timeout=30) == 0


@pytest.fixture
def page(browser, address):
    browser.set_window_size(1200, 900)
    requested(browser)
    browser.get(address)
    wait_until(lambda: browser.find_elements("css selector", "#figure svg.chart"))
    yield browser
    assert complaints(browser) == []


# In one call each: the page may replace its parts between two.
def path_of(page, line):
    return page.execute_script(
        "return document.querySelector(arguments[0])?.getAttribute('d')",
        f'#figure g[data-at="{line}"] path',
    )


# After the curve of all rows, the row's own and its three quantiles.
PINNED = 5


def curve(page):
    return path_of(page, 1)


def medians(page):
    return page.execute_script(
        "return [...document.querySelectorAll('#tiles b')].map((tile) => tile.textContent)"
    )


def move(page, name, value):
    """Move a control as a hand does: its value changes and the page is told."""
    page.execute_script(
        "const label = [...document.querySelectorAll('.control label')]"
        ".find((l) => l.textContent === arguments[0]);"
        "const input = document.getElementById(label.htmlFor);"
        "input.value = arguments[1];"
        "input.dispatchEvent(new Event('input', { bubbles: true }));",
        name,
        value,
    )


class TestExplore:
    def test_it_loads_and_asks_nobody_else(self, page, address):
        assert page.title == "congress"
        assert len(page.find_elements("css selector", ".control")) == 7
        assert all(url.startswith((address, "data:")) for url in requested(page))

    def test_moving_a_slider_moves_the_curve(self, page):
        before = curve(page), medians(page)
        move(page, "entry_year", 1990)
        wait_until(lambda: curve(page) != before[0])
        wait_until(lambda: medians(page) != before[1])
        page.find_element("id", "reset").click()
        wait_until(lambda: (curve(page), medians(page)) == before)

    def test_the_keyboard_moves_a_slider(self, page):
        from selenium.webdriver import Keys

        before = curve(page)
        slider = page.find_element("css selector", 'input[type="range"]')
        slider.send_keys(Keys.END)
        wait_until(lambda: curve(page) != before)

    def test_a_pinned_curve_stays(self, page):
        page.find_element("id", "pin").click()
        wait_until(lambda: path_of(page, PINNED) == curve(page))
        move(page, "age_at_entry", 70)
        wait_until(lambda: path_of(page, PINNED) not in (None, curve(page)))

    def test_a_table_is_scored_and_downloaded(self, page, data, tmp_path):
        data.X[:25].to_csv(tmp_path / "new.csv", index=False)
        page.find_element("id", "file").send_keys(str(tmp_path / "new.csv"))
        message = page.find_element("id", "message")
        wait_until(lambda: message.text == "25 rows scored.")
        assert len(page.find_elements("css selector", "#preview tbody tr")) == 10
        page.find_element("id", "download").click()
        wait_until(lambda: "new_predicted.csv" in os.listdir(page.downloads))

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (b"a,b\n1,2\n", "bad.csv: there is no column 'age_at_entry', which the model needs"),
            (b"", "bad.csv: the file is empty"),
            (b"x" * (2 << 20), "bad.csv is larger than 1 MB; use cqrf predict."),
        ],
        ids=["columns", "empty", "large"],
    )
    def test_a_bad_upload_gets_a_clear_message(self, browser, address, tmp_path, content, words):
        browser.get(address)
        complaints(browser)
        (tmp_path / "bad.csv").write_bytes(content)
        browser.find_element("id", "file").send_keys(str(tmp_path / "bad.csv"))
        message = browser.find_element("id", "message")
        wait_until(lambda: words in message.text)
        # The browser itself notes the refusal; nothing else may be there.
        assert all("400 (Bad Request)" in line for line in complaints(browser))

    def test_without_the_token_it_is_refused(self, browser, address):
        browser.get(address.rsplit("/", 2)[0] + "/")
        assert "token" in browser.page_source
        assert not browser.find_elements("css selector", ".control")
        complaints(browser)

    def test_it_fits_a_phone(self, page):
        page.set_window_size(500, 900)
        width = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.execute_script(width) <= 0


@pytest.fixture(scope="module")
def path(forest, data, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    forest.report(data.X, data.time, data.event, title="Congress").save(path)
    return path


class TestReport:
    @pytest.fixture
    def report(self, browser, path):
        browser.set_window_size(1200, 900)
        requested(browser)
        browser.get(path.as_uri())
        yield browser
        assert complaints(browser) == []

    def test_nothing_is_loaded_from_elsewhere(self, report, path):
        urls = [url for url in requested(report) if not url.startswith("data:")]
        assert urls == [path.as_uri()]

    def test_charts_tell_their_numbers(self, report):
        from selenium.webdriver import ActionChains

        chart = report.find_element("css selector", "#fit svg.chart")
        report.execute_script("arguments[0].scrollIntoView({ block: 'center' })", chart)
        ActionChains(report).move_to_element(chart).perform()
        tip = wait_until(lambda: report.find_elements("id", "tip"))[0]
        assert "quantile: " in tip.text
        assert "Kaplan-Meier: " in tip.text
        assert "forest: " in tip.text

    def test_a_legend_hides_its_line(self, report):
        figure = report.find_element("css selector", "#fit figure")
        button = figure.find_element("css selector", "button[data-line]")
        line = figure.find_element("css selector", 'g[data-at="0"]')
        assert line.is_displayed()
        report.execute_script("arguments[0].click()", button)
        assert not line.is_displayed()
        assert button.get_attribute("aria-pressed") == "false"

    @pytest.mark.parametrize("width", [500, 800, 1200])
    def test_it_fits_the_screen(self, report, width):
        report.set_window_size(width, 900)
        inner = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert report.execute_script(inner) <= 0

    def test_tables_that_do_not_fit_say_so_and_scroll(self, report):
        phone = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
        report.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
        try:
            tables = "return [...document.querySelectorAll('.wide')].map((table) => "
            report.execute_script(
                "document.querySelectorAll('details').forEach(d => d.open = true)"
            )
            wide = tables + "table.scrollWidth > table.clientWidth + 1)"
            told = tables + "table.previousElementSibling.offsetHeight > 0)"
            wait_until(lambda: report.execute_script(told) == report.execute_script(wide))
            assert any(report.execute_script(wide))
            moved = "(table.scrollTo(50, 0), table.scrollLeft > 0))"
            assert report.execute_script(tables + moved) == report.execute_script(wide)
            inner = "return document.documentElement.scrollWidth - window.innerWidth"
            assert report.execute_script(inner) <= 0
        finally:
            report.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    def test_the_notebook_frame_shows_the_same(self, browser, forest, data, tmp_path):
        shown = forest.report(data.X, data.time, data.event, title="Congress")._repr_html_()
        (tmp_path / "notebook.html").write_text(f"<!doctype html><body>{shown}", encoding="utf-8")
        browser.get((tmp_path / "notebook.html").as_uri())
        browser.switch_to.frame(browser.find_element("tag name", "iframe"))
        assert browser.find_element("tag name", "h1").text == "Congress"
        browser.switch_to.default_content()
        assert complaints(browser) == []
