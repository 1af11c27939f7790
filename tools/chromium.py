"""Chromium for tests and screenshots: headless, silent, and with a network of its own that leads nowhere."""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

MISSING = "Chromium and its driver are not installed: apt-get install chromium chromium-driver"
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)


def is_there() -> bool:
    """Whether Chromium and its driver are installed."""
    return bool(shutil.which("chromium") and shutil.which("chromedriver"))


@contextmanager
def chromium(*flags: str, width: int = 1280, height: int = 900, logs: Sequence[str] = ("browser",)) -> Iterator[Any]:
    """A browser with a profile of its own, ended at the end."""
    from selenium import webdriver

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = webdriver.ChromeOptions()
        for flag in (*_FLAGS, *flags, f"--user-data-dir={profile}", f"--window-size={width},{height}"):
            options.add_argument(flag)
        options.binary_location = str(shutil.which("chromium"))
        options.set_capability("goog:loggingPrefs", dict.fromkeys(logs, "ALL"))
        with webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver"))) as browser:
            yield browser


def resize(browser: Any, width: int, height: int, *, scale: float = 1, dark: bool = False) -> None:
    """Sets the size of the page itself: headless windows are not narrower than 500 pixels."""
    metrics = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    feature = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
