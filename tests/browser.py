"""A headless Chromium for tests, or the reason why there is none."""

import json
import shutil
import tempfile
import time

import pytest

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
DRIVER = shutil.which("chromedriver")
FLAGS = (
    "--headless",
    # Containers often have no user namespaces, which the sandbox needs.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def open_browser():
    """Start a browser with an empty profile; skip the test where none is installed."""
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("Chromium and chromedriver are not installed (.ci/run installs both)")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    folder = tempfile.mkdtemp()
    for flag in (*FLAGS, f"--user-data-dir={folder}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    prefs = {"download.default_directory": folder, "download.prompt_for_download": False}
    options.add_experimental_option("prefs", prefs)
    driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
    driver.set_window_size(1200, 900)
    driver.downloads = folder
    return driver


def close_browser(driver):
    driver.quit()
    shutil.rmtree(driver.downloads, ignore_errors=True)


def complaints(driver):
    """What the console has been told since the last call."""
    return [entry["message"] for entry in driver.get_log("browser")]


def requested(driver):
    """Addresses that the page has asked for since the last call."""
    events = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    sent = [e for e in events if e["method"] == "Network.requestWillBeSent"]
    return [event["params"]["request"]["url"] for event in sent]


def wait_until(condition, seconds=30):
    """Poll a condition; return what it gives when that is true."""
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


@pytest.fixture(scope="session")
def browser():
    driver = open_browser()
    yield driver
    close_browser(driver)
