"""Make the pictures of the workbench in the README, of the bundled sample: ``make screenshots``.

The players are simulated, so nobody's play is shown. Needs Chromium and playwright. With a second
folder it also takes every page, wide and narrow, light and dark, to be looked at before a release:

    python scripts/make_screenshots.py docs build/screenshots
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.web.served import Served, launch, open_page

WIDTH, HEIGHT = 1280, 1040
WIDTHS = (1280, 390)
SCHEMES = ("light", "dark")
PLAYER = "Quillfeather, Ada"


def main(output: Path, every: Path | None = None) -> None:
    """Open the sample in a workbench, and take its pictures."""
    from playwright.sync_api import sync_playwright

    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        served = Served(Path(folder) / "bench", ("--enable-check",))
        served.start()
        try:
            browser = launch(playwright)
            size = {"width": WIDTH, "height": HEIGHT}
            page = open_page(browser, served, viewport=size, color_scheme="light")
            page.set_default_timeout(600_000)
            page.click("text=Open the sample")
            page.wait_for_selector("[data-state=done]")
            page.wait_for_selector("[data-ratings] tr")
            set_id = page.url.rsplit("/", 1)[1]
            take(page, output / "workbench-set.png")
            page.click(f"[data-ratings] >> text={PLAYER}")
            page.click("text=Show the ten turns that cost most")
            page.wait_for_selector(".turns img")
            take(page, output / "workbench-player.png")
            page.click(".turns a >> nth=0")
            page.wait_for_selector(".position")
            take(page, output / "workbench-game.png")
            if every is not None:
                take_every_page(browser, served, set_id, every)
            browser.close()
        finally:
            served.end()


def take_every_page(browser: Any, served: Served, set_id: str, output: Path) -> None:
    """Take whole pages, wide and narrow, light and dark."""
    output.mkdir(parents=True, exist_ok=True)
    for width in WIDTHS:
        for scheme in SCHEMES:
            size = {"width": width, "height": 900}
            page = open_page(browser, served, viewport=size, color_scheme=scheme)
            page.set_default_timeout(600_000)
            for name, path in pages_of(served, set_id).items():
                page.goto(f"{served.home}{path}")
                take(page, output / f"{name}-{width}-{scheme}.png", full=True)
            page.context.close()


def pages_of(served: Served, set_id: str) -> dict[str, str]:
    """Return a name and the path of every kind of page."""
    players = json.loads(served.ask(f"/api/v1/sets/{set_id}/players"))
    games = json.loads(served.ask(f"/api/v1/sets/{set_id}/games"))["rows"]
    ada = next(each["id"] for each in players if each["name"] == PLAYER)
    others = [each["id"] for each in players if each["id"] != ada]
    place = f"/sets/{set_id}"
    compared = "&".join(f"player={each}" for each in (ada, *others[:3]))
    return {
        "start": "/",
        "set": place,
        "player": f"{place}/players/{ada}?by=phase&and_by=colour",
        "review": f"{place}/players/{ada}?review=true",
        "compare": f"{place}/compare?{compared}",
        "game": f"{place}/games/{games[0]['game_id']}?ply=30",
        "event": f"{place}/events/1",
        "check": f"{place}/check",
        "eras": "/eras",
        "era": f"/eras/{set_id}",
        "calibration": "/calibration",
        "method": f"/method?set={set_id}",
        "play": "/play?game=7",
        "nowhere": "/nowhere",
    }


def take(page: Any, path: Path, *, full: bool = False) -> None:
    """Take a picture of what is seen first, or of the whole page."""
    page.wait_for_load_state("networkidle")
    if full:  # pictures further down are loaded when they are scrolled to
        page.evaluate("document.querySelectorAll('img').forEach(each => each.loading = 'eager')")
        page.wait_for_load_state("networkidle")
    time.sleep(0.5)
    page.screenshot(path=str(path), full_page=full)
    print(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
