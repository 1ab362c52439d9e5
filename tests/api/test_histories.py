"""Histories as whole jobs: from files and frames, with names as written, and back from a folder."""

from __future__ import annotations

import json
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.history.samples import simulated

import milepost as mp
from milepost.api.champions import champions
from milepost.api.chosen_results import choose
from milepost.errors import InputError
from milepost.history import Game, Model, NameWarning
from milepost.io.progress import Progress

SAMPLE = Path(str(files("milepost") / "data" / "sample" / "games.pgn"))


@pytest.fixture(scope="module")
def history() -> mp.History:
    return mp.fit_history(SAMPLE)


def test_names_are_shown_as_written(history: mp.History) -> None:
    ranking = history.rank(2022)
    assert "Szélhegyfi, Örs" in ranking["name"].to_list()
    assert "szelhegyfi, ors" in ranking["player"].to_list()
    assert history.curves["player"].str.contains("ö").sum() == 0  # keys in files
    table = history.to_pandas()
    assert list(table.columns)[:3] == ["player", "name", "time"]
    for typed in ("Szélhegyfi, Örs", "örs", "szelhegyfi", "ORS SZELHEGYFI"):
        assert history.find(typed).key == "szelhegyfi, ors"
    answer = history.compare("örs@2021", "Ada@2022")
    assert answer.players == ("Szélhegyfi, Örs", "Quillfeather, Ada")
    chart = json.dumps(history.plot("örs", "Tanzawara").to_dict(), ensure_ascii=False)
    assert "Szélhegyfi, Örs" in chart
    assert "szelhegyfi" not in chart


def test_games_of_chess_get_the_numbers_for_chess(history: mp.History, tmp_path: Path) -> None:
    assert history.model == mp.TTT.for_chess()
    assert mp.fit_history(str(SAMPLE), mp.TTT()).model == mp.TTT()
    # Results made of games are still of chess; other results are not.
    chosen = choose([SAMPLE])
    results = tmp_path / "results.parquet"
    chosen.table.write_parquet(results)
    again = mp.fit_history(results)
    assert again.model == mp.TTT.for_chess()
    assert again.curves.equals(history.curves)
    assert again.rank(2022)["name"].to_list() == history.rank(2022)["name"].to_list()
    assert mp.fit_history(chosen.table).model == mp.TTT.for_chess()
    assert mp.fit_history(simulated(50, 5, 2)).model == mp.TTT()


@pytest.mark.parametrize(
    ("one", "two", "mover"), [("white_key", "black_key", 1), ("Black", "White", 2)]
)
def test_white_and_black_are_chess_and_white_moves_first(
    tmp_path: Path, one: str, two: str, mover: int
) -> None:
    games = simulated(60, 5, 3).drop("first_mover")
    path = tmp_path / "games.csv"
    games.rename({"player_1": one, "player_2": two}).write_csv(path)
    mapping = f"player_1={one},player_2={two}"
    chosen = choose(path, mapping=mapping)
    assert chosen.chess
    assert chosen.table["first_mover"].unique().to_list() == [mover]
    assert mp.fit_history(path, mapping=mapping).model.first_mover == 90.0
    home = tmp_path / "home.csv"
    games.rename({"player_1": "home", "player_2": "away"}).write_csv(home)
    chosen = choose(home, mapping="player_1=home,player_2=away")
    assert not chosen.chess
    assert chosen.table["first_mover"].null_count() == 60


def test_a_frame_with_other_columns() -> None:
    frame = pl.DataFrame({
        "when": ["1990-05-01", "1991-02-03"], "home": ["Ann", "Bob"], "away": ["Bob", "Ann"],
        "result": ["1-0", "1/2-1/2"],
    })  # fmt: skip
    history = mp.fit_history(
        frame.to_pandas(), mapping="time=when,player_1=home,player_2=away,score=result"
    )
    assert history.rank(1991)["player"].to_list() == ["Ann", "Bob"]
    with pytest.raises(InputError, match="give files"):
        choose(frame, keep_names=True)


def test_years_and_fast_games_are_chosen_and_told() -> None:
    games = simulated(200, 6, 4).with_columns(
        speed=pl.when(pl.int_range(pl.len()) < 30)
        .then(pl.lit("blitz"))
        .otherwise(pl.lit("classical"))
    )
    history = mp.fit_history(games, skip_fast=True, first=1901, last=1902)
    assert history.paths["time"].to_list() == [1901, 1902]
    assert history.said[0].startswith("years 1901-1902")
    assert "are left out" in history.said[1]
    assert history.made["options"]["from"] == 1901
    assert "fast games are left out" in history.about


def test_saved_loaded_and_updated(history: mp.History, tmp_path: Path) -> None:
    history.save(tmp_path / "h")
    again = mp.load_history(tmp_path / "h")
    assert isinstance(again, mp.History)
    assert again.rank(2022).equals(history.rank(2022))
    assert again.names == history.names
    assert again.about == history.about
    assert again.made["inputs"][0]["name"] == str(SAMPLE)
    more = pl.DataFrame({
        "time": ["2023-01-01"], "player_1": ["tanzawara, rin"], "player_2": ["new, bea"],
        "score": [1.0], "name_2": ["New, Béa"], "name_1": [None],
    }, schema_overrides={"name_1": pl.String})  # fmt: skip
    more = more.with_columns(pl.col("time").str.to_date())
    updated = again.update(more)
    assert updated.games == history.games + 1
    assert updated.name_of("new, bea") == "New, Béa"
    assert updated.name_of("tanzawara, rin") == "Tanzawara, Rin"


def test_a_history_of_the_first_format_is_still_read(tmp_path: Path) -> None:
    models: tuple[Model, ...] = (mp.TTT(tau=50.0, draw=120.0), mp.TTTD(), mp.Elo(mu=900.0))
    for number, model in enumerate(models):
        folder = tmp_path / str(number)
        history = mp.fit_history(simulated(100, 6, 3), model)
        history.save(folder)
        about = json.loads((folder / "history.json").read_text())
        # As version 0.1 wrote it: the options of all models in one.
        old = {
            "model": "ttt", "period": "year", "mu": 1200.0, "sigma": 400.0, "beta": 480.0,
            "tau": 60.0, "draw": "share", "first_mover": None, "newcomers": None,
            "margin_mu": 300.0, "margin_sigma": 100.0, "margin_tau": 10.0, "draw_form": "between",
            "stage": "converged", "tolerance": None, "max_sweeps": 200, "workers": 1,
            "order": "given", "seed": None,
        }  # fmt: skip
        about |= {"format": 1, "options": {**old, **about["options"]}}
        for name in ("period", "sweeping", "draw_share"):
            del about[name]
        (folder / "history.json").write_text(json.dumps(about))
        again = mp.load_history(folder)
        assert (again.model, again.period) == (model, "year")
        assert again.rank(1902).equals(history.rank(1902))
        assert again.predict("p0001", "p0002", 1902) == history.predict("p0001", "p0002", 1902)
    about["format"] = 3
    (folder / "history.json").write_text(json.dumps(about))
    with pytest.raises(InputError, match="a history of format 3; this version reads 1 to 2"):
        mp.load_history(folder)


def test_it_shows_itself(history: mp.History) -> None:
    assert "games" in repr(history)
    assert history._repr_html_().startswith("<table>")
    assert "56" in history._repr_html_()


@pytest.mark.parametrize(
    "times", [["1990-05-01", "1991-01-02"], [date(1990, 5, 1), date(1991, 1, 2)]]
)
def test_results_as_people_write_them(times: list[Any], tmp_path: Path) -> None:
    names = {"player_1": ["a", "b"], "player_2": ["b", "c"]}
    plain = pl.DataFrame({"time": times, **names, "score": ["1-0", "1/2-1/2"]})
    found = mp.fit_history(plain, mp.TTT())
    same = mp.fit_history({"time": [1990, 1991], **names, "score": [1.0, 0.5]}, mp.TTT())
    assert found.curves["mean"].to_list() == pytest.approx(same.curves["mean"].to_list())
    chess = pl.DataFrame({
        "date": times, "white": ["a", "b"], "black": ["b", "c"], "result": ["1-0", "1/2-1/2"],
        "white_elo": [2000, 1900], "black_elo": [1900, 1950],
    })  # fmt: skip
    history = mp.fit_history(chess)
    assert history.model == mp.TTT.for_chess()
    assert history.games == 2
    assert history.curves["elo"].null_count() == 0
    chess.write_csv(tmp_path / "games.csv")
    again = mp.fit_history(tmp_path / "games.csv")
    assert again.curves["mean"].to_list() == pytest.approx(history.curves["mean"].to_list())
    assert again.model == mp.TTT.for_chess()


def test_the_champions_figures() -> None:
    known = champions()
    assert known.games > 3_000_000
    assert known.best["Elo"].is_sorted(descending=True)
    assert known.best["player"].n_unique() == len(known.best) >= 30
    assert {"Kasparov, Gary", "Carlsen, Magnus"} <= set(known.best["player"].head(5))
    assert "Fischer, Robert James" in known.best["player"].head(20)
    assert known.curves["player"].n_unique() == 16
    assert known.best["±"].max() < 60  # type: ignore[operator]
    fischer = known.curves.filter(pl.col("player") == "Fischer, Robert James")
    assert fischer["time"].max() == 1992.0  # not the namesake's of 2007
    assert fischer["piece"].to_list()[-1] > 0


def test_columns_in_a_dict_will_do() -> None:
    columns = {"time": [1, 2], "player_1": ["a", "a"], "player_2": ["b", "b"], "score": [1.0, 0.5]}
    assert mp.fit_history(columns).games == 2


def test_better_known_players_are_a_warning() -> None:
    frame = pl.DataFrame({
        "time": [1970] * 4, "player_1": ["fischer", *["fischer, robert"] * 3],
        "player_2": ["b"] * 4, "score": [1.0] * 4,
    })  # fmt: skip
    history = mp.fit_history(frame)
    with pytest.warns(NameWarning, match="using fischer; better known are fischer, robert"):
        history.predict("fischer", "b", 1970)


def test_tuning_and_progress() -> None:
    news: list[Progress] = []
    games = simulated(100, 6, 3)
    found = mp.tune(games, mp.TTT(tau=20.0), vary={"beta": [300, 480.0]}, progress=news.append)
    assert [point.done for point in news] == [1, 2]
    assert found.best.model.tau == 20.0
    news.clear()
    mp.fit_history(games, progress=news.append)
    assert "points to go" in news[-1].note


def test_teams_go_the_same_way() -> None:
    games = [Game(1990, [["ann", "bob"], ["cy"]], [1, 0]), Game(1991, [["ann"], ["cy"]], [0, 1])]
    assert mp.fit_history(games).rank(1991).height == 3
