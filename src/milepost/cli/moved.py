"""Options that have other names now, or have gone elsewhere: whoever types an old one is told."""

from __future__ import annotations

import typer

RENAMED: dict[str, dict[str, str | tuple[str, str]]] = {
    "book": {"--least": "--min-count"},
    "fit": {"--least": "--min-decisions"},
    "fit-line": {"--least": "--min-decisions"},
    "guess": {"--moves": "--top"},
    "likelihood": {"--turns": "--turns-out"},
    "personify": {"--least": "--min-games"},
    "players": {"--most": "--top"},
    "plot": {"--band": "--level"},
    "predict": {"--first-mover": "--moves-first"},
    "rank": {"--games": "--min-games", "--most": "--top"},
    "rate": {"--least": "--min-turns", "--most": "--top"},
    "review": {"--most": "--top"},
    "search": {"--most": "--top"},
    "select": {
        "--cap": "--max-games",
        "--within": "--elo-within",
        "--years": ("--from", "--to"),
    },
    "tune": {"--by": "--best-by"},
}
"""Former names of options, by command; each still works in this version, with a note."""

_OF_A_BOT = 'options of a bot stand inside its quotes, as in "--elo 1600 --plan bullet"'
ELSEWHERE: dict[str, dict[str, str]] = {
    "match": dict.fromkeys(("--elo", "--plan", "--agent", "--engine", "--book"), _OF_A_BOT)
}
"""Options that people look for at a command that has them elsewhere, and where they are."""


def renamed(name: str, args: list[str]) -> list[str]:
    """Return what was typed, with the present names of options; a note says which were old.

    Parameters
    ----------
    name
        The command.
    args
        What was typed behind it.

    Raises
    ------
    typer.BadParameter
        If an option belongs elsewhere.
    """
    former = RENAMED.get(name, {})
    answer: list[str] = []
    waiting = list(args)
    while waiting:
        typed = waiting.pop(0)
        option, equals, value = typed.partition("=")
        if typed == "--":
            return [*answer, typed, *waiting]
        if option in ELSEWHERE.get(name, {}):
            raise typer.BadParameter(f"no such option here: {option}; {ELSEWHERE[name][option]}")
        now = former.get(option)
        if now is None:
            answer.append(typed)
            continue
        names = " and ".join([now] if isinstance(now, str) else now)
        typer.echo(f"note: {option} is now {names}; version 0.3 will drop the old name", err=True)
        if isinstance(now, str):
            answer.append(f"{now}{equals}{value}")
            continue
        # A span, as in 1991-1994 or 1994, becomes its two ends.
        first, dash, last = (value if equals else waiting.pop(0) if waiting else "").partition("-")
        answer += [now[0], first, now[1], last if dash else first]
    return answer
