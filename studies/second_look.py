"""How many of the ten costly turns are real, before and after the second look.

    python -m studies.second_look GAMES.pgn --store DIR [--player NAME]... [--games 24] [--lists 4]

GAMES are of lichess, with ``%eval`` comments. Every player's commented games are cut into lists of
some games; each is reviewed as a user would, once as the first look has it and once after the
second. A turn is confirmed if the comments, which are deeper than either, see a loss too. The store
keeps all that was searched, so a second run needs no engine.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import milepost as mp
from milepost.api.review import EVERY_TURN, ReviewPlan, SecondLook
from milepost.intrinsic.review.turn_costs import expected_score

LEAST = (0.05, 0.1)
"""Losses by the comments from which a turn counts as confirmed, in points of the game."""


def main() -> None:
    """Print one row a list, then all together, and write them as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("games", type=Path)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--player", action="append", required=True)
    parser.add_argument("--plan", default="bullet")
    parser.add_argument("--games-a-list", type=int, default=24)
    parser.add_argument("--lists", type=int, default=4)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    records = re.split(r"\n\n(?=\[Event )", given.games.read_text(encoding="utf-8"))
    rows: list[dict[str, Any]] = []
    for player in given.player:
        own = [text for text in records if "%eval" in text and f'"{player}"]' in text]
        for number in range(given.lists):
            part = own[number * given.games_a_list : (number + 1) * given.games_a_list]
            if len(part) < given.games_a_list:
                break
            rows += _list(part, player, number, given.store, given.plan)
            print(f"{player} {number + 1}: {_told(rows)}", flush=True)
    found = {"plan": given.plan, "games_a_list": given.games_a_list, **sum_up(rows)}
    print(json.dumps(found, indent=1))
    if given.out is not None:
        given.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _list(
    part: list[str], player: str, number: int, store: Path, plan: str
) -> list[dict[str, Any]]:
    """The listed turns of some games, by both looks, each with what the comments say."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "games.pgn"
        path.write_text("\n\n".join(part) + "\n", encoding="utf-8")
        mp.analyse(path, store, plan, player=player)
        decisions = mp.decisions(path, store, plan=plan, rules=EVERY_TURN)
        comments = mp.review(path, player=player).turns
    # Pawns of the comments, in points by the same k: the question is the move, not the scale.
    before, after = (expected_score(comments[name]) for name in ("value", "value_after"))
    comments = comments.select("game_id", "ply", pl.Series("by_comments", before - after))
    rows = []
    for look in (None, SecondLook.beside(store, engine=True)):
        found = mp.review(decisions, player=player, plan=ReviewPlan(look=look))
        listed = found.costly.join(comments, on=["game_id", "ply"], how="left")
        names = ("game_id", "ply", "san", "best_san", "points_lost", "cost", "by_comments")
        rows += [
            {"list": f"{player} {number}", "second": look is not None, **row}
            for row in listed.select(names).to_dicts()
        ]
    return rows


def sum_up(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what became of the listed turns, before and after the second look."""
    table = pl.DataFrame(rows, infer_schema_length=None)
    answer: dict[str, Any] = {"lists": table["list"].n_unique()}
    for name, second in (("first_look", False), ("second_look", True)):
        part = table.filter(pl.col("second") == second)
        known = part.filter(pl.col("by_comments").is_not_null())
        lost = known["by_comments"].to_numpy()
        stated = known["points_lost"].to_numpy()
        answer[name] = {
            "listed": len(part),
            "commented": len(known),
            **{f"confirmed_{least:g}": int((lost >= least).sum()) for least in LEAST},
            "mean_stated": round(float(np.mean(stated)), 3),
            "mean_by_comments": round(float(np.mean(lost)), 3),
            "correlation": round(float(np.corrcoef(stated, lost)[0, 1]), 2),
        }
    return answer


def _told(rows: list[dict[str, Any]]) -> str:
    whole = sum_up(rows)
    return "; ".join(
        f"{name.replace('_', ' ')} {whole[name]['confirmed_0.1']} of {whole[name]['commented']}"
        for name in ("first_look", "second_look")
    )


if __name__ == "__main__":
    main()
