"""The games of the title matches to 1999, from the GNU Chess book, and random turns of them.

The book (Debian's source package gnuchess-book 1.02, file book_1.02.pgn; stated to be in the public
domain) has no exact dates and known faults: games cut short, a few with a wrong year, some twice.
Kept are games of the two players of a match with the match's year (or the year it ended in), games
of which the first 15 moves stood before are dropped. Of every player's game the same few turns by
hash are taken, as in the other periods: one design for all.

    python -m studies.title_matches book_1.02.pgn OUT_FOLDER
"""

from __future__ import annotations

import csv
import re
import sys
import unicodedata
from importlib import resources
from pathlib import Path

import polars as pl
from studies.random_turns import in_order

TURNS_A_GAME = 8
"""Turns of each player's game."""
LAST = 1999
"""The book ends here."""
OTHER_YEARS = {1890: (1891,)}
"""Matches that ran into the next year (1984: its games of 1985 count as the match of 1985)."""
SURNAMES = {"chigorin": ("chigorin", "tchigorin"), "bogoljubov": ("bogoljubow", "bogoljubov"),
            "janowski": ("janowski", "janowsky"), "korchnoi": ("korchnoi", "kortschnoj"),
            "alekhine": ("alekhine", "aljechin")}  # fmt: skip
"""Other spellings of the book."""


def main(book: Path, folder: Path) -> None:
    """Write title_matches.pgn and, of its turns, the random ones."""
    from milepost.api.games import write_turns

    folder.mkdir(parents=True, exist_ok=True)
    chosen, counts = matches_of(book.read_text(encoding="latin-1"))
    target = folder / "title_matches.pgn"
    target.write_text("\n\n".join(chosen) + "\n", encoding="utf-8")
    for name, (there, played) in counts.items():
        print(f"{name}: {there} games of {played}")
    write_turns(target, folder / "all_turns.parquet")
    turns = in_order(pl.read_parquet(folder / "all_turns.parquet"))
    turns = turns.filter(pl.col("nth") <= TURNS_A_GAME).drop("nth")
    turns.write_parquet(folder / "turns.parquet")
    print(f"{turns.height:,} turns of {turns['game_id'].n_unique():,} games")


def matches_of(text: str) -> tuple[list[str], dict[str, tuple[int, int]]]:
    """Return the games of the title matches, and how many of each there are."""
    games: dict[tuple[frozenset[str], int], list[tuple[dict[str, str], str]]] = {}
    for tags, moves in re.findall(r"((?:\[[^\n]*\]\s*\n)+)\s*([^\[]+)", text):
        told = dict(re.findall(r'\[(\w+) "([^"]*)"\]', tags))
        pair = frozenset(_surname(told.get(side, "")) for side in ("White", "Black"))
        year = told.get("Date", "")[:4]
        if len(pair) == 2 and year.isdigit():
            games.setdefault((pair, int(year)), []).append((told, " ".join(moves.split())))
    chosen: list[str] = []
    counts: dict[str, tuple[int, int]] = {}
    seen: set[str] = set()
    with resources.files("milepost.data").joinpath("world_championships.csv").open() as file:
        for row in csv.DictReader(file):
            year = int(row["year"])
            if year > LAST:
                continue
            names = {_surname(row[side]): row[side] for side in ("champion", "challenger")}
            label = f"{year} {' - '.join(names)}"
            here = 0
            for when in (year, *OTHER_YEARS.get(year, ())):
                for told, moves in games.get((frozenset(names), when), []):
                    start = " ".join(re.sub(r"\d+\.\s*", "", moves).split()[:30])
                    if start in seen:
                        continue
                    seen.add(start)
                    here += 1
                    chosen.append(_written(told, moves, names, year, label))
            counts[label] = (here, int(row["games"]))
    return chosen, counts


def _surname(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    family = plain.split(",")[0].split()[0] if plain.strip() else ""
    for known, spellings in SURNAMES.items():
        if family in spellings:
            return known
    return family


def _written(told: dict[str, str], moves: str, names: dict[str, str], year: int, label: str) -> str:
    tags = {
        "Event": f"World Championship {label}",
        "Site": "?",
        "Date": f"{year}.??.??",
        "Round": told.get("Round", "?"),
        "White": names[_surname(told["White"])],
        "Black": names[_surname(told["Black"])],
        "Result": told["Result"],
    }
    return "\n".join(f'[{key} "{value}"]' for key, value in tags.items()) + f"\n\n{moves}"


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
