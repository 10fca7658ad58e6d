"""A browser without a window, to look at pages; skips where there is none."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from resources import package, skip_absent

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

SIZE = (1400, 900)


@contextmanager
def browser(*, dark: bool = False) -> Iterator[Chrome]:
    """Chromium, for as long as the block lasts."""
    webdriver: Any = package("selenium.webdriver", "pip install selenium")
    paths = [shutil.which(name) for name in ("chromium", "chromedriver")]
    if None in paths:
        skip_absent("a browser (Debian packages chromium and chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = paths[0]
    width, height = SIZE
    # Tests in containers are root, for whom Chromium has no sandbox; the pages are our own.
    flags = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
    flags += [f"--window-size={width},{height}"] + ["--force-dark-mode"] * dark
    for flag in flags:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(paths[1]))
    try:
        yield driver
    finally:
        driver.quit()


def opened(driver: Chrome, page: Path) -> None:
    """Open a page from the disk."""
    driver.get(page.as_uri())


def complaints(driver: Chrome) -> list[str]:
    """What the console has of errors and warnings."""
    levels = {"SEVERE", "WARNING"}
    return [entry["message"] for entry in driver.get_log("browser") if entry["level"] in levels]
