"""Options that have other names now, or have gone elsewhere: whoever types an old one is told."""

from __future__ import annotations

import typer

RENAMED: dict[str, dict[str, str]] = {
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
    "select": {"--cap": "--max-games", "--within": "--elo-within"},
    "tune": {"--by": "--best-by"},
}
"""Former names of options, by command; each still works in this version, with a note."""


def renamed(name: str, args: list[str]) -> list[str]:
    """Return what was typed, with the present names of options; a note says which were old."""
    former = RENAMED.get(name, {})
    answer = []
    for place, typed in enumerate(args):
        if typed == "--":
            return answer + args[place:]
        option, equals, value = typed.partition("=")
        now = former.get(option)
        if now is None:
            answer.append(typed)
            continue
        typer.echo(f"note: {option} is now {now}; version 0.3 will drop the old name", err=True)
        answer.append(f"{now}{equals}{value}")
    return answer
