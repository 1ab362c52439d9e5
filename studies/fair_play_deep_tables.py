"""The page of the deep look: what `studies.fair_play_deep` wrote, as tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from milepost.fairplay import words
from milepost.fairplay.deep.pull import LATE_MOVE, QUIET_MOVES, QUIET_PAWNS


def page(paths: Sequence[Path]) -> str:
    """Return a page of what the studies wrote."""
    lines = [
        "# Fair play: the deep look in figures",
        "",
        (
            "Written by `python -m studies.fair_play_deep tables`; what it means: "
            "[fairplay.md](fairplay.md)."
        ),
    ]
    kinds = {
        "pull": _pull_lines,
        "fresh": _fresh_lines,
        "engines": _engine_lines,
        "separates": _depth_lines,
        "draws": _power_lines,
    }
    for path in paths:
        figures = json.loads(path.read_text(encoding="utf-8"))
        kind = next(name for name in kinds if name in figures)
        lines += ["", *kinds[kind](figures)]
    return "\n".join(lines) + "\n"


def _ratio(ln_e: float) -> str:
    return words.ratio_text(ln_e)


def _stretches(rows: list[dict[str, Any]]) -> str:
    return "; ".join(
        f"{row['kind']} ({row['turns']:,}) {row['played']:.2f}, {row['honest']:.2f}, "
        f"{row['z']:+.1f}"
        for row in rows
    )


def _pull_lines(figures: dict[str, Any]) -> list[str]:
    pull, honest = figures["pull"], figures["measured_on_others"]
    lines = [
        f"## Honest players, {figures['calibration']}",
        "",
        (
            f"{pull['rests_on']}; one line to depth {pull['depth']}. How often its move was "
            "played, and how often agents of that rating would play it:"
        ),
        "",
        (
            "| Elo | judge agrees: turns | played | agents "
            "| judge has another move: turns | played | agents |"
        ),
        "|---" * 7 + "|",
    ]
    for low in dict.fromkeys(row["elo"] for row in figures["rates"]):
        mine = {row["agree"]: row for row in figures["rates"] if row["elo"] == low}
        cells = [
            f"{row['turns']} | {row['played']:.2f} | {row['agents']:.2f}"
            for row in (mine[True], mine[False])
        ]
        lines.append(f"| {low}– | {' | '.join(cells)} |")
    if "by_stretch" in figures:
        told = _stretches(figures["by_stretch"])
        lines += [
            "",
            (
                f"By kind of turn (turns; played, as the pull says, z): {told}. Quiet: at least "
                f"{QUIET_MOVES} moves lie within {QUIET_PAWNS} pawns of the best."
            ),
        ]
    errors = pull["made"]["errors"]
    lines += [
        "",
        (
            "The pull b at 2200, and for 400 points more: "
            f"{pull['agreed'][0]:.2f} ± {errors[0]:.2f} and "
            f"{pull['agreed'][1]:+.2f} ± {errors[1]:.2f} where the judge agrees, "
            f"{pull['other'][0]:.2f} ± {errors[2]:.2f} and "
            f"{pull['other'][1]:+.2f} ± {errors[3]:.2f} elsewhere; in quiet turns "
            f"{pull['kinds'][0]:+.2f} ± {errors[4]:.2f}, from move {LATE_MOVE} on "
            f"{pull['kinds'][1]:+.2f} ± {errors[5]:.2f}; for each unit of the agents' log odds "
            f"{pull['flatter'][0]:+.2f} ± {errors[6]:.2f} where the judge agrees, "
            f"{pull['flatter'][1]:+.2f} ± {errors[7]:.2f} elsewhere. Its variance from player to "
            f"player: {pull['made']['sd_squared']:+.3f}; taken for {pull['sd'] ** 2:.2f}."
        ),
        "",
        "E with the deep look, each event judged by the pull of the other events:",
        "",
        "| | n | mean ± standard error | over 20 | largest |",
        "|---|---|---|---|---|",
    ]
    titles = {"performances": "performances", "near": "by all other performances",
              "mean_of_both": "mean of both ratios",
              "player_games": "player-games"}  # fmt: skip
    for name, title in titles.items():
        row = honest[name]
        lines.append(
            f"| {title} | {row['n']} | {row['mean']:.2f} ± {row['se']:.2f} | "
            f"{row['over_20']:.1%} | {row['largest']:.1f} |"
        )
    return lines


def _fresh_lines(figures: dict[str, Any]) -> list[str]:
    rows = figures["rows"]
    events = ", ".join(dict.fromkeys(row["event"] for row in rows))
    elos = [row["elo"] for row in rows]
    lines = [
        f"## Honest players of an event that the pull has not seen, {figures['calibration']}",
        "",
        (
            f"{len(rows)} performances of {events} ({min(elos):.0f} to {max(elos):.0f} Elo, "
            f"{sum(row['turns'] for row in rows):,} turns of games that were looked at whole):"
        ),
        "",
        "| | mean ± standard error | over 20 | largest |",
        "|---|---|---|---|",
    ]
    for name, title in (("fresh", "with the deep look"), ("mean_of_both", "mean of both ratios")):
        row = figures[name]
        lines.append(
            f"| {title} | {row['mean']:.2f} ± {row['se']:.2f} | {row['over_20']:.1%} | "
            f"{row['largest']:.1f} |"
        )
    return lines


def _engine_lines(figures: dict[str, Any]) -> list[str]:
    lines = [
        f"## Engines as if they were players, {figures['calibration']}",
        "",
        (
            "| engine | rating claimed | games | turns | plays the judge's best | the deep move | "
            "index | E without | E with | worst case | mean of both |"
        ),
        "|---" * 11 + "|",
    ]
    lines += [
        f"| {row['engine']} | {row['against']} | {row['games']} | {row['turns']} | "
        f"{row['played_best']:.0%} | {row['played_deep']:.0%} | {row['index']:.1f} | "
        f"{_ratio(row['ln_e'])} | {_ratio(row['ln_e_deep'])} | {_ratio(row['ln_e_deep_worst'])} | "
        f"{_ratio(row['ln_e_mean'])} |"
        for row in figures["engines"]
    ]
    for row in figures["engines"]:
        if row["against"] == 2700 and "by_stretch" in row:
            lines += ["", f"{row['engine']} as 2700, by kind of turn (turns; played, honest, z): "
                      + _stretches(row["by_stretch"]) + "."]  # fmt: skip
    return lines


def _power_lines(figures: dict[str, Any]) -> list[str]:
    rates = {"1e-2": "1 in 100", "1e-3": "1 in 1,000"}
    shares = list(dict.fromkeys(row["share"] for row in figures["rows"]))
    lines = [
        f"## Honest games with replaced moves, {figures['calibration']}",
        "",
        (
            "Each cell: noticed by E as a full test reports it / by the ratio without the deep "
            f"look / by the match rate; {figures['repeats']} draws a performance (one where all "
            f"moves are replaced), thresholds of {figures['draws']} simulated honest and as many "
            "helped people on the same turns."
        ),
        "",
        "| helper | Elo | turns, games | plays judge's best, deep move | "
        + " | ".join(
            f"{title}: {share:.0%}" if share == shares[0] else f"{share:.0%}"
            for title in rates.values()
            for share in shares
        )
        + " |",
        "|---" * (4 + 2 * len(shares)) + "|",
    ]
    rows = figures["rows"]
    for who, elo, turns in dict.fromkeys((r["help"], r["elo"], r["turns"]) for r in rows):
        mine = {
            r["share"]: r for r in rows if (r["help"], r["elo"], r["turns"]) == (who, elo, turns)
        }
        first = next(iter(mine.values()))
        cells = [
            " / ".join(_part(mine[share][f"{kind}_{rate}"]) for kind in ("mean", "plain", "match"))
            for rate in rates
            for share in shares
        ]
        lines.append(
            f"| {who} | {elo:.0f} | {turns}, {first['games']} | {first['plays_best']:.0%}, "
            f"{first['plays_deep']:.0%} | {' | '.join(cells)} |"
        )
    return lines


def _part(value: float) -> str:
    return "1" if value > 0.995 else f"{value:.2f}".lstrip("0")


def _depth_lines(figures: dict[str, Any]) -> list[str]:
    """Does a deeper search tell engines from strong players?"""
    first, last = figures["moves"]
    lines = [
        f"## Engines and strong players at depth {figures['separates']}",
        "",
        (
            f"A sample of turns of moves {first} to {last} (`python -m studies.fair_play_depths`); "
            f"honest players of {', '.join(figures['events'])}. How often the deep search's move "
            "was played, and how many pawns the played move loses by that search. Matched: with "
            "the honest turns' shares of nine kinds of turn (how far one side is ahead, how far "
            "the second move lies behind the first). z: the matched figure less that of honest "
            "players, in standard errors."
        ),
        "",
        "| | turns | deep move played | matched | z | mean loss | matched | z |",
        "|---" * 8 + "|",
    ]
    for row in figures["rows"]:
        cells = []
        for name in ("hit", "loss"):
            cells.append(f"{row[name]:.2f} ± {row[f'{name}_se']:.2f}")
            if f"{name}_z" in row:
                matched = f"{row[f'{name}_matched']:.2f} ± {row[f'{name}_matched_se']:.2f}"
                cells += [matched, f"{row[f'{name}_z']:+.1f}"]
            else:
                cells += ["", ""]
        lines.append(f"| {row['who']} | {row['turns']} | {' | '.join(cells)} |")
    return lines
