"""Journeys through the workbench in a real Chromium, and axe on every page."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import chess
import chess.engine
import polars as pl
import pytest
from tests.web.served import Served, find_chromium, launch, open_page

from milepost.analysis.engine.setup import find_engine
from milepost.errors import EngineError

# Its own event loop warns about sockets when the interpreter ends.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

GAMES = 2
PLAN = "bullet"


@pytest.fixture(scope="module")
def engine_path() -> str:
    try:
        return str(find_engine())
    except EngineError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory, bundled_data: Path) -> Path:
    parts = (bundled_data / "sample" / "games.pgn").read_text(encoding="utf-8").split("[Event ")
    path = tmp_path_factory.mktemp("games") / "two games.pgn"
    path.write_text("[Event " + "[Event ".join(parts[1 : GAMES + 1]), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    find_chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = launch(playwright)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, engine_path: str) -> Iterator[Served]:
    options = ("--plan", PLAN, "--enable-check", "--engine", engine_path)
    bench = Served(tmp_path_factory.mktemp("bench"), options)
    bench.start()
    yield bench
    bench.end()


@pytest.fixture(scope="module")
def done_set(browser: Any, served: Served, games: Path) -> str:
    """The journey of a first visit: drop a file, see ratings come; returns the set's id."""
    page = open_page(browser, served)
    page.set_input_files("#file", str(games))
    page.click("text=Open the file")
    page.wait_for_url("**/sets/*")
    set_id: str = page.url.rsplit("/", 1)[1]
    other = page.context.new_page()  # a second tab
    other.set_default_timeout(600_000)
    other.goto(page.url)
    for tab in (page, other):
        tab.wait_for_selector("[data-state=done]")
        tab.wait_for_selector("[data-ratings] tr")
    assert page.locator("[data-ratings] tr").count() == other.locator("[data-ratings] tr").count()
    assert page.wrong == []
    assert page.context.outside == []
    page.context.close()
    return set_id


def test_page_and_api_have_the_numbers_of_the_command_line(
    browser: Any, served: Served, done_set: str, games: Path, tmp_path: Path
) -> None:
    from tests.cli.runner import run_inside

    out = tmp_path / "ratings.csv"
    store = served.folder / "evaluations"
    run_inside("rate", str(games), "--store", str(store), "-o", str(out), "-j", "1")
    page = open_page(browser, served)
    page.goto(f"{served.home}/sets/{done_set}")
    with page.expect_download() as download:
        page.click("section[aria-labelledby=ratings] >> text=CSV")
    assert Path(download.value.path()).read_bytes() == out.read_bytes()
    expected = ["–" if each is None else f"{each:.0f}" for each in pl.read_csv(out)["rating"]]
    shown = page.locator("[data-ratings] [data-part=rating]").all_inner_texts()
    assert sorted(shown) == sorted(expected)
    rows = json.loads(served.ask(f"/api/v1/sets/{done_set}/ratings"))["rows"]
    assert [row["rating"] for row in rows] == pl.read_csv(out)["rating"].to_list()
    page.context.close()


def test_from_player_to_game_by_keyboard_alone(browser: Any, served: Served, done_set: str) -> None:
    page = open_page(browser, served)
    page.goto(f"{served.home}/sets/{done_set}")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    press_until(page, "[data-ratings] a")
    page.keyboard.press("Enter")
    page.wait_for_selector("h1")
    assert page.locator(".headline").count() == 1 or "Too few turns" in page.inner_text("main")
    press_until(page, "section[aria-labelledby=games] a")
    page.keyboard.press("Enter")
    page.wait_for_selector(".position")
    page.wait_for_load_state("load")  # keys are listened to once the script has run
    page.keyboard.press("End")
    page.wait_for_url("**ply=*")
    last = page.inner_text("#turn")
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(
        "text => { const turn = document.querySelector('#turn');"
        " return turn !== null && turn.innerText !== text; }",
        arg=last,
    )
    assert page.context.outside == []
    page.context.close()


def press_until(page: Any, selector: str) -> None:
    for _ in range(200):
        page.keyboard.press("Tab")
        if page.evaluate("s => document.activeElement.matches(s)", selector):
            return
    raise AssertionError(f"{selector} cannot be reached by the keyboard")


def test_without_script(browser: Any, served: Served, done_set: str, games: Path) -> None:
    page = open_page(browser, served, java_script_enabled=False)
    page.set_input_files("#file", str(games))
    page.click("text=Open the file")  # the same file: the same set
    assert page.url.endswith(done_set)
    page.click("[data-ratings] a >> nth=0")
    assert page.locator("h1").inner_text()
    page.go_back()
    page.click("section[aria-labelledby=games] tbody a >> nth=0")
    page.click("text=Next")
    assert page.locator(".position").count() == 1
    page.context.close()


def test_a_killed_server_goes_on(
    browser: Any, served: Served, done_set: str, games: Path, tmp_path: Path, engine_path: str
) -> None:
    bench = Served(tmp_path / "bench", ("--plan", PLAN, "--engine", engine_path))
    bench.start()
    try:
        page = open_page(browser, bench)
        page.set_input_files("#file", str(games))
        page.click("text=Open the file")
        page.wait_for_url("**/sets/*")
        page.wait_for_function(
            "() => /: [1-9][0-9]* of/.test(document.querySelector('[data-told]')?.textContent)"
        )
        before = json.loads(bench.ask(f"/api/v1/jobs/{done_set}"))
        bench.end(hard=True)
        bench.start()
        page.wait_for_selector("[data-state=done]")  # the page found the new server by itself
        page.wait_for_selector("[data-ratings] tr")
        after = json.loads(bench.ask(f"/api/v1/jobs/{done_set}"))
        assert after["last_event"] > before["last_event"]
        asked = f"/api/v1/sets/{done_set}/ratings"
        undisturbed = json.loads(served.ask(asked))["rows"]
        assert json.loads(bench.ask(asked))["rows"] == undisturbed
        page.context.close()
    finally:
        bench.end()


def test_a_stopped_job_keeps_what_is_done(
    browser: Any, games: Path, tmp_path: Path, engine_path: str
) -> None:
    # By the plan quick there is ample time to stop it.
    bench = Served(tmp_path / "bench", ("--plan", "quick", "--engine", engine_path))
    bench.start()
    try:
        page = open_page(browser, bench)
        page.set_input_files("#file", str(games))
        page.click("text=Open the file")
        page.wait_for_url("**/sets/*")
        page.wait_for_function(
            "() => /: ([3-9]|[1-9][0-9]+) of/.test("
            "document.querySelector('[data-told]')?.textContent)"
        )
        page.get_by_role("button", name="Stop").click()
        page.wait_for_selector("[data-state=stopped]")
        assert page.get_by_role("button", name="Go on").count() == 1
        assert "are not scored yet" in page.inner_text("[data-turns]")
        page.get_by_role("button", name="Go on").click()
        page.wait_for_selector("[data-state=waiting], [data-state=running]")
        page.click("text=Delete it now")  # of a running job too
        page.wait_for_url(f"{bench.home}/")
        assert json.loads(bench.ask("/api/v1/sets")) == []
        page.context.close()
    finally:
        bench.end()


def test_a_chart_can_be_explored(browser: Any, served: Served) -> None:
    page = open_page(browser, served)
    page.goto(f"{served.home}/calibration")
    page.click("text=Explore this chart >> nth=0")
    page.wait_for_selector("figure svg.marks")
    assert page.locator("figure [role=graphics-document]").count() == 1
    assert page.wrong == []  # no script was refused
    assert page.context.outside == []
    page.context.close()


def test_a_game_against_the_bot_to_mate(browser: Any, served: Served, engine_path: str) -> None:
    page = open_page(browser, served)
    page.goto(f"{served.home}/play?game=7")
    page.wait_for_selector("[data-square=e2]")
    page.fill("#elo", "1500")
    board = chess.Board()
    with chess.engine.SimpleEngine.popen_uci(engine_path) as engine:
        for turn in range(120):
            move = engine.play(board, chess.engine.Limit(depth=8)).move
            assert move is not None
            if turn == 0:  # by mouse, then by typing
                page.click(f"[data-square={chess.square_name(move.from_square)}]")
                page.click(f"[data-square={chess.square_name(move.to_square)}]")
            else:
                page.fill("#move", board.san(move))
                page.press("#move", "Enter")
            board.push(move)
            done = 2 * turn + 1
            page.wait_for_function(
                "count => { const moves = document.querySelector('[name=moves]').value.split(' ');"
                "return moves.length > count || (moves.length === count &&"
                " / (won|draw)/i.test(' ' + document.querySelector('[data-told]').innerText)); }",
                arg=done,
            )
            moves = page.input_value("[name=moves]").split()
            for text in moves[len(board.move_stack) :]:
                board.push_uci(text)
            if board.is_game_over():
                break
    assert board.is_checkmate()
    assert "You won: checkmate" in page.inner_text("[data-told]")
    with page.expect_download() as download:
        page.click("text=Save as PGN")
    assert Path(download.value.path()).read_text().count("#") == 1
    assert page.wrong == []
    page.context.close()


def test_axe_finds_nothing_serious(browser: Any, served: Served, done_set: str) -> None:
    from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]

    players = json.loads(served.ask(f"/api/v1/sets/{done_set}/players"))
    rows = json.loads(served.ask(f"/api/v1/sets/{done_set}/games"))["rows"]
    one, two = (each["id"] for each in players[:2])
    place = f"/sets/{done_set}"
    paths = [
        "/", place, f"{place}/players/{one}", f"{place}/compare?player={one}&player={two}",
        f"{place}/games/{rows[0]['game_id']}?ply=30", f"{place}/events/1", f"{place}/check",
        "/eras", f"/eras/{done_set}", "/calibration", f"/method?set={done_set}", "/play",
        "/nowhere",
    ]  # fmt: skip
    # What is dark is the same style everywhere: a few pages have all of it.
    schemes = {"light": paths, "dark": [paths[0], paths[1], paths[4], paths[9], paths[11]]}
    found = {}
    for scheme, chosen in schemes.items():
        page = open_page(browser, served, color_scheme=scheme)
        for path in chosen:
            page.goto(f"{served.home}{path}")
            page.wait_for_load_state("networkidle")
            answer = Axe().run(page).response
            serious = [
                (each["id"], each["nodes"][0]["html"][:200])
                for each in answer["violations"]
                if each["impact"] in {"serious", "critical"}
            ]
            if serious:
                found[scheme, path] = serious
        assert page.context.outside == []
        assert [text for text in page.wrong if "404" not in text] == []
        page.context.close()
    assert found == {}


def test_a_narrow_screen_needs_no_sideways_scrolling(
    browser: Any, served: Served, done_set: str
) -> None:
    page = open_page(browser, served, viewport={"width": 390, "height": 800})
    for path in ("/", f"/sets/{done_set}", f"/eras/{done_set}", "/calibration", "/method", "/play"):
        page.goto(f"{served.home}{path}")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
    page.context.close()


def test_a_terminal_that_is_closed_ends_the_server_in_order(tmp_path: Path) -> None:
    """An interrupt in the midst of its loop printed where it was, and once left it waiting."""
    served = Served(tmp_path / "bench")
    asked = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it would be ignored
    try:
        served.start(stderr=subprocess.PIPE)
    finally:
        signal.signal(signal.SIGHUP, asked)
    assert served.process is not None
    served.process.send_signal(signal.SIGHUP)
    told = served.process.communicate(timeout=60)[1].decode()
    assert served.process.returncode == 129
    assert told.strip() == "milepost: hung up; the same command goes on where this one stopped"
