"""Write the figures of the demo's list of all time: curves of the best players, no games.

    python scripts/write_champions.py HISTORY_DIR

HISTORY_DIR is a history of results over the board with printed Elos, as in docs/history.md:

    milepost history otb_results.parquet --from 1850 --save HISTORY_DIR --map "time=date,\
player_1=white_key,player_2=black_key,score=result,elo_1=white_elo,elo_2=black_elo,fast=fast"

Writes `src/milepost/data/champions.csv` (skill as Elo, `History.on("elo")`, of the champions and of
the thirty highest peaks) and `champions.json` (what it was made of).
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

import polars as pl

import milepost as mp
from milepost.history import NameWarning
from milepost.history.result import LEAST_GAMES, MOST_SD
from milepost.io.files import write_text

DATA = Path(__file__).resolve().parents[1] / "src" / "milepost" / "data"
CHAMPIONS = {
    "Steinitz": 1886, "Lasker": 1905, "Capablanca": 1921, "Alekhine": 1930, "Euwe": 1936,
    "Botvinnik": 1950, "Smyslov": 1957, "Tal": 1960, "Petrosian": 1964, "Spassky": 1970,
    "Fischer": 1972, "Karpov": 1978, "Kasparov": 1991, "Kramnik": 2001, "Anand": 2009,
    "Carlsen": 2014,
}  # fmt: skip
LAST_YEARS = {"fischer, robert james": 1992, "steinitz, william": 1900, "lasker, emanuel": 1941}
"""Games under these names in later years are namesakes'."""
BEST = 30
PEAK_GAMES = 20
"""A peak lies in a year with so many games."""


def best_of_all(history: mp.History) -> list[str]:
    """Return the keys with the highest peaks of well-known years; of doubles the first alone."""
    games = pl.col("games").cum_sum().over("player")
    known = history.curves.filter(
        (pl.col("games") >= PEAK_GAMES)
        & (games >= LEAST_GAMES)
        & (pl.col("sd") <= MOST_SD * history._beta)
    )
    peaks = known.sort("mean", descending=True).unique("player", maintain_order=True)
    double = {key for group in history.doubles(peaks.head(3 * BEST)) for key in group[1:]}
    return [key for key in peaks["player"] if key not in double][:BEST]


def main() -> None:
    """Read the history, write the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("history", type=Path)
    history = mp.load_history(parser.parse_args().history).on("elo")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NameWarning)
        champions = [history.find(name, at=year).key for name, year in CHAMPIONS.items()]
    keys = list(dict.fromkeys([*champions, *best_of_all(history)]))
    last = pl.col("player").replace_strict(LAST_YEARS, default=9999)
    rows = history.curves.filter(pl.col("player").is_in(keys) & (pl.col("time") <= last)).select(
        pl.col("player").str.to_titlecase(), pl.col("time").alias("year"),
        pl.col("mean", "sd").round(1), "games",
    )  # fmt: skip
    rows.sort("player", "year").write_csv(DATA / "champions.csv")
    link = history.scale.link
    assert link is not None
    about = {
        "source": "results over the board (TWIC, PGN Mentor, KingBase, the GNU Chess book and "
        "others), 1850 to January 2023; figures alone, no games",
        "games": history.games,
        "players": history.players,
        "model": history.model.name,
        "beta": round(history._beta, 1),
        "champions": [key.title() for key in champions],
        "scale": list(history.scale.lines),
        "link_error": round(link.error, 1),
    }
    write_text(DATA / "champions.json", json.dumps(about, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
