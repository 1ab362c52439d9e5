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
    book: str | None = None
    if values["OwnBook"] == "true":
        book = values["BookFile"] or OWN_BOOK
    seed = int(values["Seed"])
    bot = Bot(
        None if not limited else float(values["UCI_Elo"]),
        plan=values["Plan"],
        engine=engine,
        calibration=values["Calibration"] or None,
        agent=values["Agent"] or None,
        book=book,
        book_plies=2 * int(values["BookDepth"]),
        choice=values["Choice"] if limited else "likeliest",
        form=float(values["Form"]),
        seed=None if seed < 0 else seed,
        clip=True,
    )
    if values["SyzygyPath"]:
        bot.use_tablebases(values["SyzygyPath"])
    return bot
