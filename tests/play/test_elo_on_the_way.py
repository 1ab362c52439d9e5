"""Options between two games: another Elo loads nothing anew, a wrong file changes nothing."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

from milepost.errors import InputError
from milepost.play.loop import UciLoop


class Plain:
    """A bot that remembers what it was asked for."""

    def __init__(self, values: Mapping[str, str]):
        self.elo = float(values["UCI_Elo"])
        self.agent, self.plan = values["Agent"], values["Plan"]
        self.book, self.calibration = values["BookFile"], values["Calibration"]
        self.range = (1417.0, 2000.0 if self.plan == "bullet" else 2842.0)
        self.minds = [SimpleNamespace(name=self.plan, range=self.range)]
        self.choice, self.form = values["Choice"], 0.0
        self.seed: int | None = None
        self.games: list[int] = []

    def use_book(self, book: str | None, plies: int) -> None:
        if book is not None and book.startswith("no."):
            raise InputError(f"{book} cannot be read")
        self.book = "" if book in (None, "own") else str(book)

    def play_at(self, elo: float) -> None:
        self.elo = elo

    def start(self) -> None:
        """Nothing to start."""

    close = start

    def new_game(self, number: int) -> None:
        self.games.append(number)


def played(lines: list[str], given: Mapping[str, str] | None = None) -> tuple[list[Plain], str]:
    """The bots that were made, and all that was said; files called no.json are not there."""
    made: list[Plain] = []

    def make(values: Mapping[str, str], _: str | None) -> Any:
        for name in ("Agent", "BookFile"):
            if values[name].startswith("no."):
                raise InputError(f"{values[name]} cannot be read")
        made.append(Plain(values))
        return made[-1]

    output = io.StringIO()

    def sent() -> Iterator[str]:
        for number, line in enumerate(lines, start=1):
            yield line
            asked = lines[:number].count("isready")
            while line == "isready" and output.getvalue().count("readyok") < asked:
                if "cannot be read" in output.getvalue() and "going on" not in output.getvalue():
                    return  # it will never be ready
                time.sleep(0.001)

    CODES.append(UciLoop(output, given=given, make=make).run(sent()))
    return made, output.getvalue()


CODES: list[int] = []
"""The exit codes of the loops."""


def test_another_elo_needs_no_other_bot() -> None:
    made, said = played(["isready", "setoption name UCI_Elo value 2200", "isready"])
    assert [bot.elo for bot in made] == [2200.0], "one bot, which plays at the new Elo"
    assert said.count("readyok") == 2


def test_a_book_a_choice_and_no_limit_need_no_other_bot() -> None:
    """Else a GUI that sets them between two moves has a bot that is not loaded."""
    lines = ["isready", "setoption name BookFile value mine.bin"]
    lines += ["setoption name Choice value likeliest", "isready"]
    made, _ = played(lines)
    assert [(bot.book, bot.choice, bot.games) for bot in made] == [("mine.bin", "likeliest", [0])]
    made, _ = played(["isready", "setoption name UCI_LimitStrength value false", "isready"])
    assert [(bot.elo, bot.choice) for bot in made] == [(2842.0, "likeliest")]
    made, _ = played(["isready", "setoption name Seed value 3", "isready"])
    assert [(bot.seed, bot.games) for bot in made] == [(3, [0, 0])], "its chances begin anew"


def test_another_plan_needs_another_bot() -> None:
    lines = ["isready", "setoption name UCI_Elo value 2200", "setoption name Plan value bullet"]
    made, _ = played([*lines, "isready"])
    assert [bot.elo for bot in made] == [1800.0, 2200.0]


def test_an_agent_keeps_its_own_elo_and_says_so() -> None:
    lines = ["setoption name Agent value me.json", "isready", "setoption name UCI_Elo value 2200"]
    made, said = played([*lines, "isready"])
    assert [bot.elo for bot in made] == [1800.0]
    assert "info string the agent plays at its own Elo, 1800" in said


def test_a_wrong_agent_from_the_gui_leaves_the_old_one() -> None:
    lines = ["isready", "setoption name Agent value no.json", "isready"]
    made, said = played(lines, {"Agent": "me.json"})
    assert [bot.agent for bot in made] == ["me.json"], "the bot that was there plays on"
    assert "info string no.json cannot be read; going on with Agent me.json" in said
    assert CODES[-1] == 0
    # The wrong one is forgotten: another plan can still be had.
    made, said = played([*lines, "setoption name Plan value bullet", "isready"])
    assert [(bot.agent, bot.plan) for bot in made] == [("", "quick"), ("", "bullet")]
    assert said.count("cannot be read") == 1


def test_a_wrong_agent_before_the_first_bot_is_told_and_left_out() -> None:
    made, said = played(["setoption name Agent value no.json", "isready"])
    assert [bot.agent for bot in made] == [""]
    assert "info string no.json cannot be read; going on with Agent <empty>" in said
    assert CODES[-1] == 0


def test_every_wrong_file_is_told_and_the_others_are_used() -> None:
    lines = ["Agent value no.json", "BookFile value no.bin", "Calibration value mine.json"]
    sent = ["isready", *(f"setoption name {line}" for line in lines), "isready"]
    made, said = played(sent, {"Agent": "me.json"})
    assert said.count("cannot be read") == 2
    assert "info string no.json cannot be read; going on with Agent me.json" in said
    assert "info string no.bin cannot be read; going on with BookFile <empty>" in said
    assert (made[-1].agent, made[-1].book, made[-1].calibration) == ("me.json", "", "mine.json")
    assert CODES[-1] == 0


def test_values_beyond_the_bounds_are_told() -> None:
    lines = ["UCI_Elo value 9999", "Form value 1000", "Hash value 256", "Threads value 1"]
    made, said = played([*(f"setoption name {line}" for line in lines), "isready"])
    assert [bot.elo for bot in made] == [2842.0]
    told = [line for line in said.splitlines() if line.startswith("info string")]
    assert told == [
        "info string UCI_Elo takes 1417 to 2842: 2842 is used, not 9999",
        "info string Form takes 0 to 300: 300 is used, not 1000",
        "info string Hash is fixed at 16: with 256 no calibration would hold",
    ]


def test_an_elo_that_another_plan_cannot_play_is_told() -> None:
    lines = ["Plan value bullet", "UCI_Elo value 2600"]
    _, said = played([*(f"setoption name {line}" for line in lines), "isready"])
    assert "info string bullet plays at 1417 to 2000: at 2000 now, not at 2600" in said
    # The same where the bot is there already, and nothing is loaded for another Elo.
    _, said = played([f"setoption name {lines[0]}", "isready", f"setoption name {lines[1]}"])
    assert "not at 2600" not in said
    sent = [f"setoption name {lines[0]}", "isready", f"setoption name {lines[1]}", "isready"]
    assert "at 2000 now, not at 2600" in played(sent)[1]


def test_what_the_command_line_names_is_not_left_out() -> None:
    for option in ("Agent", "BookFile"):
        made, said = played(["isready"], {option: "no.json"})
        assert not made
        assert "info string no.json cannot be read" in said
        assert "readyok" not in said
        assert CODES[-1] == 1
