"""Sets, jobs and tables over the API: the numbers of the command line, and nothing lost."""

from __future__ import annotations

import html
import io
import json
import math
import re
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from starlette.testclient import TestClient
from tests.web.client import make_client, send, wait_for

import milepost as mp
from milepost.api.review import trap_sentence
from milepost.web.sets.journal import Event, Journal, coalesced
from milepost.web.sets.shelf import GameSet, Shelf
from milepost.web.sets.tables import SetTables
from milepost.web.settings import Settings
from milepost.web.shown.pages import Footnotes, day, decimal, interval, points, signed
from milepost.web.work import Worker

API = "/api/v1"


def test_counts_add_up(client: TestClient, rated_set: str) -> None:
    about = client.get(f"{API}/sets/{rated_set}").json()
    assert about["found"] == 6 == about["kept"] + sum(about["skipped"].values())


def test_ratings_are_those_of_the_library(
    client: TestClient, rated_set: str, few_games: bytes, stored: Path, tmp_path: Path
) -> None:
    pgn = tmp_path / "games.pgn"
    pgn.write_bytes(few_games)
    expected = mp.rate(pgn, stored).table
    answer = client.get(f"{API}/sets/{rated_set}/ratings").json()
    assert json.dumps(answer["rows"]) == json.dumps(expected.to_dicts())
    parquet = client.get(f"{API}/sets/{rated_set}/ratings?format=parquet").content
    assert pl.read_parquet(io.BytesIO(parquet)).equals(expected)
    csv = client.get(f"{API}/sets/{rated_set}/ratings?format=csv")
    mp.rate(pgn, stored).save(tmp_path / "ratings.csv")
    assert csv.content == (tmp_path / "ratings.csv").read_bytes()


@pytest.mark.parametrize(
    ("by", "part"),
    [
        (["event", "player"], slice(0, 6)),
        (["colour", "phase"], slice(1, 4)),
        (["player"], slice(3, 5)),
    ],
)
def test_other_sets_and_splits_have_the_numbers_of_the_library(
    client: TestClient, few_games: bytes, stored: Path, tmp_path: Path, by: list[str], part: slice
) -> None:
    parts = few_games.split(b"[Event ")[1:][part]
    data = b"[Event " + b"[Event ".join(parts)
    set_id = send(client, data, "part.pgn")
    assert wait_for(client, set_id)["state"] == "done"
    pgn = tmp_path / "part.pgn"
    pgn.write_bytes(data)
    expected = mp.rate(pgn, stored, by=by).table
    asked = "&".join(f"by={name}" for name in by)
    parquet = client.get(f"{API}/sets/{set_id}/ratings?{asked}&format=parquet").content
    assert pl.read_parquet(io.BytesIO(parquet)).equals(expected)


def test_the_queue_outlives_a_folder_that_cannot_be_read(
    settings: Settings, few_games: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with make_client(replace(settings, folder=tmp_path / "bench")) as browser:
        sets = tmp_path / "bench" / "sets"
        sets.rename(tmp_path / "aside")
        sets.write_text("no folder")
        end = time.monotonic() + 20
        while "cannot read its sets" not in caplog.text and time.monotonic() < end:
            time.sleep(0.05)
        assert caplog.text.count("cannot read its sets: NotADirectoryError") == 1
        sets.unlink()
        (tmp_path / "aside").rename(sets)
        assert wait_for(browser, send(browser, few_games))["state"] == "done"


def test_a_game_without_a_turn_to_rate_is_shown(client: TestClient, few_games: bytes) -> None:
    book = (
        b'\n[Event "Short"]\n[White "Ann"]\n[Black "Bob"]\n[Date "1852.??.??"]\n[Result "1-0"]\n\n'
        b"1. e4 e5 2. Nf3 1-0\n"
    )
    set_id = send(client, b"[Event " + few_games.split(b"[Event ")[1] + book, "short.pgn")
    assert wait_for(client, set_id)["state"] == "done"
    games = client.get(f"{API}/sets/{set_id}/games").json()["rows"]
    (short,) = [row["game_id"] for row in games if row["event"] == "Short"]
    page = client.get(f"/sets/{set_id}/games/{short}", headers=PAGE)
    assert page.status_code == 200
    assert "This turn is not analysed" in page.text
    assert "Short, 1852<" in page.text  # without the parts of the date that nobody knows
    assert client.get(f"{API}/sets/{set_id}/games/{short}/turns").status_code == 409
    listed = client.get(f"/sets/{set_id}", headers=PAGE).text
    assert "1 game<" in listed
    assert "1 games" not in listed


def test_the_same_file_is_the_same_set(
    client: TestClient, rated_set: str, few_games: bytes
) -> None:
    answer = client.post(f"{API}/sets", files={"file": ("other.pgn", few_games)})
    assert (answer.status_code, answer.json()["id"]) == (200, rated_set)


def test_splits_and_formats(client: TestClient, rated_set: str) -> None:
    players = client.get(f"{API}/sets/{rated_set}/players").json()
    table = client.get(f"{API}/sets/{rated_set}/players?format=csv").text
    assert pl.read_csv(table.encode()).to_dicts() == players
    assert "Ødemarken, Liv" in [each["name"] for each in players]
    table = client.get(f"{API}/sets/{rated_set}/players/{players[0]['id']}?by=colour").json()
    assert [row["colour"] for row in table["rows"]] == ["white", "black"]
    wrong = client.get(f"{API}/sets/{rated_set}/ratings?by=shoe-size")
    assert wrong.status_code == 422
    assert "shoe-size" in wrong.json()["detail"]


def events(text: str) -> list[tuple[int, str, dict[str, object]]]:
    """The events of a stream: number, kind, data."""
    found = []
    for block in text.replace("\r\n", "\n").split("\n\n"):
        parts = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if "event" in parts:
            found.append((int(parts["id"]), parts["event"], json.loads(parts["data"])))
    return found


def test_a_stream_goes_on_where_it_was_cut(client: TestClient, rated_set: str) -> None:
    address = f"{API}/jobs/{rated_set}/events"
    first = client.get(address)
    assert first.headers["cache-control"] == "no-store"
    assert "retry: 3000" in first.text
    ((last, kind, told),) = events(first.text)
    assert (kind, told["state"]) == ("snapshot", "done")
    whole = events(client.get(address, headers={"last-event-id": "0"}).text)
    numbers = [number for number, _, _ in whole]
    assert numbers == sorted(set(numbers))
    assert numbers[-1] == last
    assert [kind for _, kind, _ in whole][-1] == "done"
    assert "rating" in [kind for _, kind, _ in whole]
    for cut in (numbers[0], numbers[len(numbers) // 2], last):
        rest = events(client.get(address, headers={"last-event-id": str(cut)}).text)
        assert rest == [event for event in whole if event[0] > cut]
    for odd in ("x", "-1", "99999999", "²"):  # of nobody's journal: all that matters at once
        answer = client.get(address, headers={b"last-event-id": odd.encode("latin-1")})
        assert [kind for _, kind, _ in events(answer.text)] == ["snapshot"]


NAMES = ("Ann", "Bob", "Émile")
RESULTS = b"time,player_1,player_2,score\n" + b"".join(
    f"{1990 + i // 4},{NAMES[i % 3]},{NAMES[(i + 1) % 3]},{score}\n".encode()
    for i, score in enumerate([1, 0.5, 0, 1, 1, 0, 0.5, 1, 0, 1, 1, 0.5] * 2)
)


@pytest.fixture(scope="module")
def history_set(client: TestClient) -> str:
    set_id = send(client, RESULTS, "results.csv")
    assert wait_for(client, set_id)["state"] == "done"
    return set_id


def test_a_table_of_results_becomes_a_history(
    client: TestClient, history_set: str, tmp_path: Path
) -> None:
    path = tmp_path / "results.csv"
    path.write_bytes(RESULTS)
    expected = mp.fit_history(path).rank("1993")
    answer = client.get(f"{API}/histories/{history_set}/rank?at=1993").json()
    assert answer["rows"] == expected.to_dicts()
    asked = f"{API}/histories/{history_set}/compare?a=Ann&b=Bob&time_a=1991&time_b=1995"
    expected_chance = mp.fit_history(path).compare("Ann", "Bob", "1991", "1995").probability
    assert client.get(asked).json()["probability"] == expected_chance
    levels = client.get(f"{API}/histories/{history_set}/pool").json()["rows"]
    assert levels == mp.api.histories.pool_levels(mp.fit_history(path)).to_dicts()
    page = client.get(f"/eras/{history_set}?a=Ann&b=Emile&time_a=1991", headers=PAGE)
    assert "Émile" in page.text
    assert client.get(f"/sets/{history_set}", headers=PAGE).status_code == 200
    joint = client.get(f"{API}/histories/{history_set}/rank?at=1993&scale=joint")
    assert joint.status_code == 422  # no moves stand behind these results
    page = client.get(f"/eras/{history_set}?scale=joint", headers=PAGE)
    assert page.status_code == 200
    assert 'role="alert"' in page.text
    bad = client.get(f"{API}/histories/{history_set}/rank?at=yesterday")
    assert bad.status_code == 422


def test_a_joint_history_is_shown_on_its_own_scale_and_by_results_alone(
    settings: Settings, tmp_path: Path
) -> None:
    from tests.history.joint.pools import pool, sites_of

    made = pool(np.random.default_rng(5), "newcomers rise", active=30, years=6, games=200)
    sites = sites_of(np.random.default_rng(6), made.truth, share=0.5, games=2, spread=100.0)
    folder = tmp_path / "joint"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mp.fit_history(made.results, moves=sites).save(folder)
    history = mp.load_history(folder)
    viewer = make_client(replace(settings, folder=tmp_path / "bench", histories=(folder,)))
    (known,) = viewer.get(f"{API}/histories").json()
    place = f"/histories/{known['id']}"
    own = viewer.get(f"{API}{place}/rank?at=4").json()["rows"]
    assert own == history.rank("4").to_dicts() == history.on("joint").rank("4").to_dicts()
    alone = viewer.get(f"{API}{place}/rank?at=4&scale=points").json()["rows"]
    assert alone == history.on("points").rank("4").to_dicts()
    assert alone != own
    page = viewer.get(f"/eras/{known['id']}", headers=PAGE).text
    assert "by results and moves" in page
    assert "--scale joint" in page
    median = np.median(history.curves.filter(pl.col("time") == 5)["intrinsic_mean"].to_numpy())
    assert f"{median:.0f} in 5 (" in page  # the level of the pool, on the same scale
    # A name means a player of that time, and results alone have their say.
    late = history.curves.group_by("player").agg(pl.col("time").min()).filter(pl.col("time") > 0)
    asked = f"a={late['player'][0]}&b={own[0]['player']}&time_a=5&time_b=4"
    page = viewer.get(f"/eras/{known['id']}?{asked}", headers=PAGE).text
    assert "By results alone, with what their settings leave open" in page
    page = viewer.get(f"/eras/{known['id']}?scale=points", headers=PAGE).text
    assert "by results alone." in page
    assert "--scale points" in page


def test_a_set_is_deleted_with_all_it_has(
    client: TestClient, settings: Settings, history_set: str
) -> None:
    assert any(history_set in path.name for path in settings.folder.rglob("*"))
    said = client.delete(f"{API}/sets/{history_set}").json()
    assert "no names" in said["stays"]
    assert client.get(f"{API}/sets/{history_set}").status_code == 404
    assert not any(history_set in path.name for path in settings.folder.rglob("*"))


def test_sets_expire(settings: Settings, tmp_path: Path) -> None:
    own = replace(settings, folder=tmp_path, expiry_days=10.0, check_days=2.0)
    shelf = Shelf(own)
    chosen, new = shelf.add(io.BytesIO(RESULTS), "results.csv")
    assert new
    assert shelf.expired() == []
    chosen.tell(checked=time.time() - 3 * 86_400)
    assert shelf.expired() == [chosen]
    chosen.tell(checked=time.time(), created=time.time() - 11 * 86_400)
    assert shelf.expired() == [chosen]


def test_a_damaged_journal_is_mended(tmp_path: Path) -> None:
    path = tmp_path / "journal.ndjson"
    Journal(path).write("progress", done=1)
    with path.open("ab") as file:
        file.write(b'{"event": "prog')  # killed in the middle of a line
    assert [event.number for event in Journal(path).read()] == [1]
    assert Journal(path).write("done") == 2
    assert [event.kind for event in Journal(path).read(after=1)] == ["done"]


def test_runs_of_progress_are_shortened() -> None:
    kinds = ["progress", "progress", "rating", "progress", "progress", "done"]
    told = [Event(number, kind, {}) for number, kind in enumerate(kinds, start=1)]
    assert [event.number for event in coalesced(told)] == [2, 3, 5, 6]


PAGE = {"accept": "text/html"}


def test_every_page_is_there(client: TestClient, rated_set: str) -> None:
    player = client.get(f"{API}/sets/{rated_set}/players").json()[0]["id"]
    paths = ["/", f"/sets/{rated_set}", f"/sets/{rated_set}/players/{player}?by=colour",
             f"/sets/{rated_set}/events/1", "/eras", f"/eras/{rated_set}", "/calibration",
             f"/method?set={rated_set}", "/play", f"/sets/{rated_set}/charts/ratings.svg",
             f"/sets/{rated_set}/charts/ratings.json?narrow=1", "/piece/wK.svg",
             "/board.svg?fen=8/8/8/8/8/8/8/K1k5 w - - 0 1"]  # fmt: skip
    for path in paths:
        answer = client.get(path, headers=PAGE)
        assert answer.status_code == 200, f"{path}: {answer.text[:300]}"
    assert "Marovčinski, Jelka" in client.get(f"/sets/{rated_set}", headers=PAGE).text
    nothing = client.get("/nowhere", headers=PAGE)
    assert nothing.status_code == 404
    assert "Back to the start" in nothing.text
    check = client.get(f"/sets/{rated_set}/check", headers=PAGE)
    assert check.status_code == 404  # not switched on


def test_a_player_and_a_game(
    client: TestClient, rated_set: str, few_games: bytes, stored: Path, tmp_path: Path
) -> None:
    pgn = tmp_path / "games.pgn"
    pgn.write_bytes(few_games)
    game = client.get(f"{API}/sets/{rated_set}/games").json()["rows"][0]["game_id"]
    turns = client.get(f"{API}/sets/{rated_set}/games/{game}/turns").json()["rows"]
    assert turns == mp.game_turns(pgn, stored, game=game).to_dicts()
    page = client.get(f"/sets/{rated_set}/games/{game}?ply=20", headers=PAGE)
    assert page.status_code == 200
    assert turns[0]["san"] in page.text
    chart = client.get(f"/sets/{rated_set}/games/{game}/charts/surprise.json").json()
    assert "bits" in json.dumps(chart)
    players = client.get(f"{API}/sets/{rated_set}/players").json()
    chosen = next(each for each in players if each["key"] == turns[0]["mover"])
    page = client.get(f"/sets/{rated_set}/players/{chosen['id']}?review=true", headers=PAGE)
    review = mp.review(pgn, stored, player=chosen["key"])
    first = review.costly.row(0, named=True)
    assert f"{first['san']}</strong>" in page.text
    assert f"?ply={first['ply']}" in page.text
    tables = f"{API}/sets/{rated_set}/players/{chosen['id']}/review?table="
    for name in ("costly", "phases", "opponents", "games"):
        rows = client.get(f"{tables}{name}").json()["rows"]
        expected = [
            # JSON knows no infinity: a side without a bound is null there.
            {
                column: None if isinstance(value, float) and math.isinf(value) else value
                for column, value in row.items()
            }
            for row in getattr(review, name).to_dicts()
        ]
        assert json.dumps(rows) == json.dumps(expected)
    # The other tables of the review are the same numbers too.
    assert review.notes[0][1:] in page.text  # no second look: it says so
    for row in [*review.phases.to_dicts(), *review.opponents.to_dicts()]:
        if row["rating"] is not None:
            told = f"{points(row['rating'])}</td><td>{interval(row['low'], row['high'])}</td>"
            assert told in page.text
            assert f"{signed(row['gap'])}</td>" in page.text
    assert html.unescape(page.text).count(trap_sentence(review.trap_sums)) == 1
    for words in review.games["words"].drop_nulls():
        assert words in page.text


def test_a_second_look_is_a_job_of_its_own(
    client: TestClient, rated_set: str, settings: Settings, stored: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Asked for on the page; done by a worker, whose answer the next page shows."""
    tables = SetTables(GameSet(settings.folder / "sets" / rated_set))
    player = tables.players()[0]
    page = f"/sets/{rated_set}/players/{player.id}"
    asked = client.post(f"{page}/look", headers=PAGE, follow_redirects=False)
    assert asked.headers["location"] == f"{page}?review=true"
    assert wait_for(client, rated_set)["state"] == "done"
    note = client.get(f"{API}/sets/{rated_set}").json()["note"]
    assert "No engine" in note  # this workbench has none
    assert client.get(f"{API}/jobs/{rated_set}").json()["phase"] == "looking"
    tables.chosen.journal.write("state", state="waiting")
    assert client.get(f"{API}/jobs/{rated_set}").json()["phase"] is None  # of the next job
    looks: list[str] = []

    def review(turns: pl.DataFrame, store: Path, *, player: str, plan: Any, **_: Any) -> None:
        looks.append(f"{player} {plan.look.engine} {turns['game_id'].n_unique()}")

    monkeypatch.setattr("milepost.api.review.review", review)
    worker = Worker(tables.chosen, stored, "an engine", "quick", 1, {}, look_at=player.key)
    worker.run()
    own = tables.games().filter(pl.any_horizontal(pl.col("white_key", "black_key") == player.key))
    assert looks == [f"{player.key} True {len(own)}"]
    assert tables.chosen.about["looked"] > 0


def test_the_check_is_there_only_if_switched_on(
    client: TestClient, rated_set: str, settings: Settings
) -> None:
    assert client.post(f"{API}/sets/{rated_set}/check").status_code == 404
    officer = make_client(replace(settings, enable_check=True))
    assert officer.get(f"{API}/sets/{rated_set}/check").status_code == 404  # no look yet
    names = [each["name"] for each in client.get(f"{API}/sets/{rated_set}/players").json()]
    expires = client.get(f"{API}/sets/{rated_set}").json()["expires"]
    said = officer.post(f"{API}/sets/{rated_set}/check")
    assert said.status_code == 200, said.text
    assert officer.get(f"{API}/sets/{rated_set}/check").json()["rows"] == said.json()["rows"]
    page = officer.get(f"/sets/{rated_set}/check", headers=PAGE)
    report = officer.get(f"/sets/{rated_set}/check/report", headers=PAGE)
    for text in (said.text, page.text, report.text):
        assert "Player 01" in text
        assert not any(name in text for name in names)
    assert "sha256-" in report.headers["content-security-policy"]
    assert "unsafe" not in report.headers["content-security-policy"]
    assert client.get(f"{API}/sets/{rated_set}").json()["expires"] < expires


def test_links_lead_somewhere(client: TestClient, rated_set: str) -> None:
    seen: set[str] = set()
    for page in ("/", f"/sets/{rated_set}", f"/sets/{rated_set}/events/1", "/eras", "/method"):
        text = client.get(page, headers=PAGE).text
        seen |= set(re.findall(r'(?:href|src|srcset|action)="(/[^"#]*)"', text))
    pages = {each.split("?")[0] for each in seen if "/charts/" not in each}
    posts = {"/sets", "/sample", "/start", "/stop", "/delete"}
    for path in sorted(pages):
        if any(path.endswith(end) for end in posts) or "/players/" in path or "/games/" in path:
            continue
        assert client.get(path, headers=PAGE).status_code in {200, 409, 422}, path


def test_figures_and_dates_are_told_plainly() -> None:
    assert [decimal(-0.4, 0), points(-0.2), decimal(-1.5, 1), decimal(None)] == [
        "0",
        "0",
        "−1.5",
        "–",
    ]
    assert [day("1852.??.??"), day("1851.06.21"), day("????.??.??"), day(None)] == [
        "1852", "1851.06.21", "", "",
    ]  # fmt: skip


def test_a_game_so_far(client: TestClient) -> None:
    said = client.post(f"{API}/play", json={"moves": ["e2e4", "e7e5"], "human": "white"}).json()
    assert said["sans"] == ["e4", "e5"]
    assert said["spoken"] == ["pawn to e4", "pawn to e5"]
    assert len(said["legal"]) == 29
    mate = {"moves": ["f2f3", "e7e5", "g2g4", "d8h4"], "human": "white"}
    over = client.post(f"{API}/play", json=mate).json()
    assert (over["result"], over["reason"], over["legal"]) == ("0-1", "checkmate", {})
    wrong = client.post(f"{API}/play", json={"moves": ["e2e5"]})
    assert wrong.status_code == 422
    no_engine = client.post(f"{API}/move", json={"fen": over["fen"], "elo": 1500})
    assert no_engine.status_code == 409
    form = {"moves": "e2e4 e7e5", "human": "black", "elo": "1500"}
    pgn = client.post("/play/pgn", data=form).text
    assert '[White "Milepost bot 1500"]' in pgn
    assert "1. e4 e5" in pgn


def test_notes_stand_once_below_a_table() -> None:
    rows = [{"warnings": "few turns; one opponent"}, {"warnings": ""}, {"warnings": "one opponent"}]
    found = Footnotes(rows)
    assert found.notes == ["few turns", "one opponent"]
    assert [found.marks(row) for row in rows] == [[1, 2], [], [2]]
