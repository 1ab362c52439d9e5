"""The bot that UCI options ask for."""

from __future__ import annotations

from collections.abc import Mapping

from milepost.api.play import Bot
from milepost.games.book import OWN_BOOK


def make_bot(values: Mapping[str, str], engine: str | None) -> Bot:
    """Return a bot as the options have it.

    Without ``UCI_LimitStrength`` it is as strong as it can be: the likeliest move at the greatest
    Elo of the calibration.

    Raises
    ------
    MilepostError
        If there is no engine or no calibration, or a file cannot be read.
    """
    limited = values["UCI_LimitStrength"] == "true"
    bot = Bot(
        None if not limited else float(values["UCI_Elo"]),
        plan=values["Plan"],
        engine=engine,
        calibration=values["Calibration"] or None,
        agent=values["Agent"] or None,
        book=_book(values),
        book_plies=_book_plies(values),
        choice=_choice(values),
        form=float(values["Form"]),
        seed=_seed(values),
        clip=True,
    )
    if values["SyzygyPath"]:
        bot.use_tablebases(values["SyzygyPath"])
    return bot


LIGHT = frozenset(
    ("UCI_LimitStrength", "UCI_Elo", "OwnBook", "BookFile", "BookDepth", "Choice", "Seed", "Form")
)
"""Options that a bot which is there can follow: nothing needs to be loaded for them."""


def adjust_bot(bot: Bot, values: Mapping[str, str]) -> bool:
    """Let a bot play as other values of the options in `LIGHT` have it.

    Returns
    -------
    bool
        Whether the game has to begin anew, with other chances.

    Raises
    ------
    MilepostError
        If a book cannot be read; then nothing is changed.
    """
    bot.use_book(_book(values), _book_plies(values))
    if not values["Agent"]:
        limited = values["UCI_LimitStrength"] == "true"
        bot.play_at(float(values["UCI_Elo"]) if limited else bot.range[1])
    bot.choice = _choice(values)
    before = (bot.seed, bot.form)
    bot.seed, bot.form = _seed(values), float(values["Form"])
    return before != (bot.seed, bot.form)


def _book(values: Mapping[str, str]) -> str | None:
    return (values["BookFile"] or OWN_BOOK) if values["OwnBook"] == "true" else None


def _book_plies(values: Mapping[str, str]) -> int:
    return 2 * int(values["BookDepth"])


def _choice(values: Mapping[str, str]) -> str:
    return values["Choice"] if values["UCI_LimitStrength"] == "true" else "likeliest"


def _seed(values: Mapping[str, str]) -> int | None:
    return None if int(values["Seed"]) < 0 else int(values["Seed"])
