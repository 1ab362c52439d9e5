"""How a game was won or lost, in words: by good play, or by the other side's bad play.

Guid & Bratko and the 2009 papers ask it of matches; here it is asked of each game. A side's play is
told only if it lies off its Elo by more than its own error; the moves of one game seldom say so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def game_words(row: Mapping[str, Any]) -> str:
    """Return what the moves of a game say of its result; see `milepost.tables.REVIEW_GAMES`."""
    score = row.get("score")
    if score is None:
        return "no result"
    result = {1.0: "won", 0.5: "drawn", 0.0: "lost"}[float(score)]
    if row.get("own_play") is None:
        return f"{result}: too little to say"
    return f"{result}{_how(result, _told(row, 'own'), _told(row, 'opponent'))}"


def _how(result: str, own: int, theirs: int) -> str:
    """What the two sides' play says of a result; the side that explains it comes first."""
    known = {
        ("won", 1, -1): " by good play, against bad play",
        ("won", 1, 0): " by good play",
        ("won", 1, 1): " by good play, against good play",
        ("won", 0, -1): ": the opponent played badly",
        ("won", -1, -1): ": both played badly",
        ("lost", -1, 1): " by bad play, against good play",
        ("lost", -1, 0): " by bad play",
        ("lost", -1, -1): " by bad play, against bad play",
        ("lost", 0, 1): ": the opponent played well",
        ("lost", 1, 1): ": both played well",
    }
    told = known.get((result, own, theirs))
    if told is not None:
        return told
    parts = [
        f"{side} play {'above' if sign > 0 else 'below'} the Elo"
        for side, sign in (("own", own), ("the opponent's", theirs))
        if sign
    ]
    return f": {', '.join(parts) or 'play as usual'}"


def _told(row: Mapping[str, Any], side: str) -> int:
    """1 = above its Elo by more than the error, -1 = below, 0 = not told."""
    play, error = row.get(f"{side}_play"), row.get(f"{side}_play_se")
    if play is None or error is None or abs(play) <= error:
        return 0
    return 1 if play > 0 else -1
