"""Another Elo between two games: the bot that is there plays at it, and nothing is loaded anew."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

from milepost.play.loop import UciLoop


class Plain:
    """A bot that remembers what it was asked for."""

    def __init__(self, values: Mapping[str, str]):
        self.elo = float(values["UCI_Elo"])
        self.range = (1417.0, 2842.0)
        self.minds = [SimpleNamespace(name="quick", range=self.range)]

    def play_at(self, elo: float) -> None:
        self.elo = elo

    def start(self) -> None:
        """Nothing to start."""

    close = start

    def new_game(self, number: int) -> None:
        """Nothing to begin."""


def played(lines: list[str]) -> tuple[list[Plain], str]:
    """The bots that were made, and all that was said."""
    made: list[Plain] = []

    def make(values: Mapping[str, str], _: str | None) -> Any:
        made.append(Plain(values))
        return made[-1]

    output = io.StringIO()

    def sent() -> Iterator[str]:
        for number, line in enumerate(lines, start=1):
            yield line
            asked = lines[:number].count("isready")
            while line == "isready" and output.getvalue().count("readyok") < asked:
                time.sleep(0.001)

    UciLoop(output, make=make).run(sent())
    return made, output.getvalue()


def test_another_elo_needs_no_other_bot() -> None:
    made, said = played(["isready", "setoption name UCI_Elo value 2200", "isready"])
    assert [bot.elo for bot in made] == [2200.0], "one bot, which plays at the new Elo"
    assert said.count("readyok") == 2


def test_another_plan_needs_another_bot() -> None:
    lines = ["isready", "setoption name UCI_Elo value 2200", "setoption name Plan value bullet"]
    made, _ = played([*lines, "isready"])
    assert [bot.elo for bot in made] == [1800.0, 2200.0]


def test_an_agent_keeps_its_own_elo_and_says_so() -> None:
    lines = ["setoption name Agent value me.json", "isready", "setoption name UCI_Elo value 2200"]
    made, said = played([*lines, "isready"])
    assert [bot.elo for bot in made] == [1800.0]
    assert "info string the agent plays at its own Elo, 1800" in said
