"""Takes the pictures in README and docs: python -m tools.screenshots docs/screenshots

The demo is scanned with all methods and name servers, reported and reviewed in Chromium, so that the pictures show
what the commands really make.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tools.chromium import MISSING, chromium, is_there, resize

_WIDE, _NARROW = (1280, 800), (390, 780)
_SCREENS = {
    "review-overview": ("/", _WIDE),
    "review-queue": ("/queue", _WIDE),
    "review-cluster": ("/cluster/1", _WIDE),
    "review-page": ("/page/0?view=preview", _WIDE),
    "review-queue-narrow": ("/queue", _NARROW),
}


def main() -> None:
    """Makes the demo, and looks at it."""
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/screenshots")
    if not is_there():
        sys.exit(MISSING)
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _samehand("demo", folder / "demo")
        _samehand("scan", folder / "demo" / "crawl.warc.gz", "-o", folder / "demo-run", "--signals", "all")
        _samehand("sites", folder / "demo-run", "--nameservers", folder / "demo" / "nameservers.csv")
        _samehand("verdicts", folder / "demo-run")
        _samehand("report", folder / "demo-run", "-o", folder / "report.html")
        with chromium() as browser:
            _take_report(browser, folder / "report.html", target)
            _take_screens(browser, folder / "demo-run", target)


def _samehand(*arguments: object) -> None:
    command = [sys.executable, "-m", "samehand.cli.start", *map(str, arguments)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _take_report(browser: Any, report: Path, target: Path) -> None:
    browser.get(report.as_uri())
    for name, place, dark in (("report", 0, False), ("report-figures", "figures", True)):
        resize(browser, *_WIDE, dark=dark)
        browser.execute_script("arguments[0] ? document.getElementById(arguments[0]).scrollIntoView() : 0", place)
        _save(browser, target / f"{name}.png")


def _take_screens(browser: Any, run: Path, target: Path) -> None:
    command = [sys.executable, "-m", "samehand.cli.start", "review", str(run), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            address = server.stdout.readline().strip() if server.stdout else ""
            browser.get(address)
            for name, (path, size) in _SCREENS.items():
                resize(browser, *size)
                browser.get(address.partition("/launch")[0] + path)
                _wait(browser)
                _save(browser, target / f"{name}.png")
        finally:
            server.kill()


def _wait(browser: Any) -> None:
    """Until two sources stand side by side, where the screen has them."""
    is_ready = "const at = document.querySelector('[data-field=left]'); return !at || at.textContent.length > 0"
    for _ in range(300):
        if browser.execute_script(is_ready):
            break
        time.sleep(0.1)
    time.sleep(0.5)


def _save(browser: Any, path: Path) -> None:
    browser.save_screenshot(str(path))
    print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
