"""Careers, the search for players, doubles in rankings, names at a time, gaps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import milepost as mp
from milepost.errors import InputError
from milepost.history import NameWarning
from milepost.report.history.curves import curve_points, curves_chart


def games(*rows: tuple[float, str, str, float, int]) -> pl.DataFrame:
    """Rows (time, one, two, score of one, how often)."""
    spread = [row[:4] for row in rows for _ in range(row[4])]
    return pl.DataFrame(
        spread, schema=["time", "player_1", "player_2", "score"], orient="row"
    ).with_columns(event=pl.format("Open {}", pl.col("time")))


@pytest.fixture(scope="module")
def history() -> mp.History:
    """A strong player at two times twenty years apart, a weak namesake, and others."""
    rows = [
        (1970, "fischer, robert", "spassky, boris", 1.0, 12),
        (1970, "fischer, robert", "spassky, boris", 0.5, 6),
        (1971, "fischer, robert", "weak, dan", 1.0, 6),
        (1971, "spassky, boris", "weak, dan", 1.0, 15),
        (1972, "fischer, robert", "tal, mihail", 1.0, 3),
        (1972, "tal, mihail", "fischer, robert", 1.0, 1),
        (1972, "tal, mihail", "weak, dan", 1.0, 8),
        (1972, "tal mikhail", "weak, dan", 1.0, 7),
        (1992, "fischer, robert", "spassky, boris", 1.0, 10),
        (2005, "fischer", "weak, eve", 1.0, 4),
        (2005, "fischer, jo", "weak, eve", 1.0, 30),
        (2005, "weak, eve", "fischer, jo", 0.5, 6),
    ]
    return mp.fit_history(games(*rows), mp.TTT(beta=300.0, tau=40.0))


def test_a_career_in_numbers(history: mp.History) -> None:
    career = history.career("fischer, robert")
    assert (career.first, career.last, career.periods, career.games) == (1970, 1992, 4, 38)
    assert (career.won, career.drawn, career.lost) == (31, 6, 1)
    curve = history.curves.filter(pl.col("player") == "fischer, robert")
    best = curve.filter(pl.col("games") >= 10).sort("mean", descending=True).row(0, named=True)
    assert (career.peak_time, career.peak.mean) == (best["time"], best["mean"])
    assert career.peak_games >= 10
    assert career.peak_rank == 1
    assert career.gaps == ((1972, 1992),)
    wins = career.wins
    assert wins["opponent"].n_unique() == len(wins) == 3
    cautious = [history.skill(o, float(t)) for o, t in wins.select("opponent", "time").rows()]
    ordered = [belief.mean - belief.sd for belief in cautious]
    assert ordered == sorted(ordered, reverse=True)
    # By hand: the best of all wins, over every opponent and year.
    results = [("spassky, boris", 1970), ("weak, dan", 1971), ("tal, mihail", 1972),
               ("spassky, boris", 1992)]  # fmt: skip
    top = max(results, key=lambda r: history.skill(*r).mean - history.skill(*r).sd)
    assert wins.row(0)[:2] == (str(top[1]), top[0])
    chance = history.predict("fischer, robert", top[0], top[1]).win
    assert wins["chance"][0] == pytest.approx(chance)
    assert wins["event"][0] == f"Open {top[1]}"
    said = repr(career)
    assert "Won 31, drew 6, lost 1 (89.5 % of the points)" in said
    assert "No games between 1972 to 1992: perhaps two people of one name" in said
    assert "Best wins:" in said


def test_a_career_of_other_models(history: mp.History) -> None:
    rows = games((2000, "a", "b", 1.0, 12), (2001, "b", "a", 0.5, 3))
    own = mp.fit_history(rows, mp.TTTD()).career("a")
    assert own.margin is not None
    assert own.margin.mean > 0
    assert "Draw margin then" in repr(own)
    elo = mp.fit_history(rows, mp.Elo()).career("a")
    assert elo.won is None
    assert len(elo.wins) == 0
    assert np.isnan(elo.peak.sd)
    assert "±" not in repr(elo)
    with pytest.raises(InputError, match="no player is called"):
        history.career("nobody at all")


def test_players_are_found_by_their_games_then(history: mp.History) -> None:
    with pytest.warns(NameWarning, match="using fischer, jo; other matches around 2005: fischer"):
        assert history.find("fischer", at=2005).key == "fischer, jo"
    assert history.find("fischer", at=1972).key == "fischer, robert"
    assert history.find("fischer", at="1992-09").key == "fischer, robert"
    assert history.find("=fischer").key == "fischer"
    with pytest.warns(NameWarning, match="other matches"):
        # Most games of all, and the strongest.
        assert history.find("Fischer").key == "fischer, robert"
    with pytest.warns(NameWarning):
        assert history.compare("fischer@1972", "fischer@2005").keys == (
            "fischer, robert", "fischer, jo",
        )  # fmt: skip
    # Another transliteration, and a spelling that sounds alike.
    assert history.find("tall mikhail", at=1972).key == "tal mikhail"
    with pytest.raises(InputError, match="no player has the key 'nobody'"):
        history.find("=nobody")


def test_a_key_stays_a_key(history: mp.History) -> None:
    """What a table names is not reinterpreted; a person may have meant another, and is told."""
    fresh = replace(history)
    with pytest.warns(NameWarning, match="using fischer; better known are fischer, robert"):
        known = fresh.skill("fischer", 2005)
    assert known == history.skill("=fischer", 2005) != history.skill("fischer, jo", 2005)


def test_search_finds_parts_and_near_spellings(history: mp.History) -> None:
    found = history.search("fisch")
    assert found["player"].to_list() == ["fischer, robert", "fischer, jo", "fischer"]
    assert found.row(0, named=True)["first"] == 1970
    assert found.row(0, named=True)["last"] == 1992
    assert found["games"].to_list() == [38, 36, 4]
    assert history.search("spasky")["player"].to_list() == ["spassky, boris"]
    assert history.search("qqqqq").is_empty()


def test_doubles_are_named_unless_they_met(history: mp.History) -> None:
    ranking = history.rank(1972, games=0)
    assert [sorted(group) for group in history.doubles(ranking)] == [["tal mikhail", "tal, mihail"]]
    met = pl.concat([
        history._kept.results.select("time", "player_1", "player_2", "score"),  # type: ignore[union-attr]
        games((1972, "tal mikhail", "tal, mihail", 0.5, 1)).drop("event"),
    ])  # fmt: skip
    again = mp.fit_history(met, mp.TTT(beta=300.0, tau=40.0))
    assert again.doubles(again.rank(1972, games=0)) == []


def test_a_ranking_leaves_out_the_hardly_known() -> None:
    rng = np.random.default_rng(4)
    names = [f"player {i}" for i in range(12)]
    rows = [(2000, names[i], names[j], float(rng.integers(0, 3)) / 2, 4)
            for i in range(12) for j in range(i)]  # fmt: skip
    rows += [(2000, "lucky", names[0], 1.0, 3)]
    history = mp.fit_history(games(*rows))
    assert "lucky" not in history.rank(2000)["player"]
    assert len(history.rank(2000)) == 12
    assert "lucky" in history.rank(2000, games=0)["player"]
    assert history.rank("now").equals(history.rank(2000))
    few = mp.fit_history(games((2000, "a", "b", 1.0, 2)))
    assert len(few.rank(2000)) == 2  # nobody is known better here


def test_months_and_now(history: mp.History) -> None:
    assert history.moment("1972-07") == history.moment(1972) == 1972.0
    assert history.moment("now") == 2005.0
    dated = games((2000, "a", "b", 1.0, 2)).with_columns(time=pl.date(2000, 5, 3))
    monthly = mp.fit_history(dated, period="month")
    assert monthly.moment("2000-05") == monthly.moment("2000-05-20") == 2000 + 4 / 12
    assert monthly.moment("now") == 2000 + 4 / 12
    for wrong in ("2000-13", "then", "1972-"):
        with pytest.raises(InputError, match="expected a year"):
            history.moment(wrong)


def test_curves_are_broken_in_long_gaps(history: mp.History) -> None:
    points = curve_points(history, ["fischer, robert"])
    assert points["time"].to_list() == [1970.0, 1971.0, 1972.0, 1992.0]
    assert points["piece"].to_list() == [0, 0, 0, 1]
    whole = curve_points(history, ["fischer, robert"], gap=30.0)
    assert whole["piece"].unique().to_list() == [0]
    assert len(whole) == 23
    drawn = curves_chart(points).to_dict()
    assert "broken where there are no games for years" in str(drawn["title"])
    marks = [layer["mark"]["type"] for layer in drawn["layer"]]
    assert marks.count("point") == 1  # the lone year of 1992
    assert "point" not in [
        layer["mark"]["type"] for layer in curves_chart(whole).to_dict()["layer"]
    ]
