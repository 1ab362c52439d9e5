"""Make the pictures of the workbench in the README, of the bundled sample: ``make screenshots``.

The players are simulated, so nobody's play is shown. Needs Chromium and playwright.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.web.served import Served, launch, open_page

WIDTH, HEIGHT = 1280, 1040


def main(output: Path) -> None:
    """Open the sample in a workbench, and take its pictures."""
    from playwright.sync_api import sync_playwright

    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        served = Served(Path(folder) / "bench")
        served.start()
        try:
            browser = launch(playwright)
            size = {"width": WIDTH, "height": HEIGHT}
            page = open_page(browser, served, viewport=size, color_scheme="light")
            page.set_default_timeout(600_000)
            page.click("text=Open the sample")
            page.wait_for_selector("[data-state=done]")
            page.wait_for_selector("[data-ratings] tr")
            take(page, output / "workbench-set.png")
            page.click("[data-ratings] >> text=Quillfeather, Ada")
            page.click("text=Show the ten turns that cost most")
            page.wait_for_selector(".turns img")
            take(page, output / "workbench-player.png")
            page.click(".turns a >> nth=0")
            page.wait_for_selector(".position")
            take(page, output / "workbench-game.png")
            browser.close()
        finally:
            served.end()


def take(page: Any, path: Path) -> None:
    """Take a picture of what is seen first."""
    page.wait_for_load_state("networkidle")
    time.sleep(0.5)
    page.screenshot(path=str(path))
    print(path)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
