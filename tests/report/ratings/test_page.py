"""The page about ratings: the answer first, every picture there, everything said."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest
from tests.intrinsic.tables import SETUP, league_table, true_calibration
from tests.report.test_pages import Walker

from milepost.intrinsic.rating.rate import rate
from milepost.io.provenance import provenance
from milepost.report.ratings.page import RatingsView, write_ratings_page


def page_of(
    table: pl.DataFrame, by: list[str], path: Path, *, level: float = 0.95
) -> tuple[str, pl.DataFrame]:
    calibration = true_calibration()
    found = rate(table, calibration, by, setup=SETUP, level=level)
    made = provenance("rate", {"by": by}, [])
    view = RatingsView(found, by, level, calibration, table)
    write_ratings_page(view, path, made=made)
    text = path.read_text(encoding="utf-8")
    walker = Walker()
    walker.feed(text)
    assert not walker.open
    assert "script" not in walker.seen
    assert not re.findall(r'(?:src|href)="', text)
    return text, found


def words(text: str) -> str:
    """What a reader sees, pictures and all."""
    return re.sub(r"\s+", " ", re.sub(r"<style>.*?</style>|<[^>]+>", " ", text, flags=re.DOTALL))


@pytest.fixture(scope="module")
def players(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, pl.DataFrame]:
    table = league_table(4, 6, 12)
    named = table.with_columns(pl.col("mover").replace({"Player 1": "<b>Player</b> & 1"}))
    one_short = named.filter((pl.col("mover") != "Player 3") | (pl.col("move_number") < 10))
    return page_of(one_short, ["player"], tmp_path_factory.mktemp("page") / "ratings.html")


def test_the_answer_comes_first_highest_rating_first(players: tuple[str, pl.DataFrame]) -> None:
    text, found = players
    seen = words(text)
    first_table = text[text.index("<table") : text.index("</table>")]
    shown = re.findall(r"<td>(?:Player \d|&lt;b&gt;[^<]*)</td>", first_table)
    rated = found.filter(pl.col("rating").is_not_null()).sort("rating", descending=True)
    order = [name.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
             for name in [*rated["player"], "Player 3"]]  # fmt: skip
    assert [each[4:-5] for each in shown] == order
    best = rated.row(0, named=True)
    assert (
        f"Elo {best['rating']:.0f} ({best['low']:.0f} to {best['high']:.0f} for these games, "
        in seen
    )
    assert f"{best['low']:.0f} to {best['high']:.0f}" in first_table
    assert "fewer than 10 turns: no rating" in first_table
    assert text.index("<table") < text.index("<svg")


def test_all_pictures_are_there_and_said_in_words(players: tuple[str, pl.DataFrame]) -> None:
    text, _ = players
    assert text.count("<svg") == 4
    assert text.count('role="img"') == 4
    headings = re.findall(r"<h2>(.*?)</h2>", text)
    assert headings == [
        "Who played how well, and how sure that is",
        "Ratings with their 95% intervals",
        "How large are the errors at each Elo?",
        "Does the model fit?",
        "Errors by move number",
        "Where the uncertainty comes from, and moves compared with own Elo",
        "What the figures mean",
        "The calibration",
    ]


def test_it_says_what_to_doubt_and_how_it_was_made(players: tuple[str, pl.DataFrame]) -> None:
    seen = words(players[0])
    assert "never a verdict on a person" in seen
    assert "a note &amp; a half" in seen
    assert "fitted on ratings from 1600 to 2700" in seen
    assert "an invented engine &lt;1&gt;" in seen
    assert "made_by" in seen
    assert "<b>Player" not in players[0]


def test_the_same_ratings_give_the_same_bytes(tmp_path: Path) -> None:
    table = league_table(2, 3, 10)
    pages = [page_of(table, ["colour"], tmp_path / f"{n}.html", level=0.8)[0] for n in range(2)]
    assert pages[0] == pages[1]
    assert "80% interval" in pages[0]
    # Colours have an order of their own.
    assert pages[0].index("<td>white</td>") < pages[0].index("<td>black</td>")


def test_one_group_without_move_numbers_and_one_without_a_bound(tmp_path: Path) -> None:
    table = league_table(2, 3, 10).drop("move_number")
    text, _ = page_of(table, [], tmp_path / "all.html")
    assert text.count("<svg") == 3
    assert "Elo " in words(text)
    perfect = table.with_columns(pl.lit(0).cast(pl.Int64).alias("chosen"))
    text, found = page_of(perfect, ["player"], tmp_path / "perfect.html")
    for row in found.iter_rows(named=True):
        assert row["rating"] is None  # better than anybody: only bounded from below
        assert f"at least {row['low']:.0f}" in words(text)
    assert "No group could be given a rating" in words(text)


def test_nothing_rated_is_said_not_drawn(tmp_path: Path) -> None:
    text, _ = page_of(league_table(2, 3, 10).head(4), ["player"], tmp_path / "few.html")
    assert "<svg" not in text
    assert "No group could be given a rating" in words(text)
