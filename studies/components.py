"""How real players vary: the variance components of complete events, with what they rest on.

    python -m studies.components --store DIR [--events FILE …] [--calibration NAME] [--output NAME]
    python -m studies.components --decisions FILE --calibration stockfish15.1-bullet

Reads complete events of `../shared/data/events`, those of part `estimate` in its `index.csv`
whose turns are in the store with the plan of the calibration (nine of ten at least), or the table
of events that `scripts/write_calibrations.py` keeps (`--decisions`), and fits the mixed model of
`milepost.intrinsic.calibration.variance_components`. It tells apart where events lie off their Elo:
by event, Elo band, year and stretch of moves; with FIDE's ratings (`../shared/data/fide`) also how
far the printed Elo is behind next year's. Writes a part of a page (`NAME.md`) and the figures
(`NAME.json`, without games). `--update` puts the components into a calibration file.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import warnings
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import milepost as mp
from milepost.analysis.plans import Plan, parse_plan
from milepost.choice.evaluation.evaluate import prepare
from milepost.choice.spreads import Ints, Spreads
from milepost.errors import MissingEvaluationsWarning
from milepost.fit.methods.mixed_model import DISPERSION, UNIT, Component, MixedModel, Units
from milepost.intrinsic.calibration.calibration import Calibration, load_calibration
from milepost.intrinsic.calibration.player_variation import AtOwnElo, PlayerVariation, at_own_elo
from milepost.intrinsic.calibration.variance_components import (
    PlayerGames,
    gather_player_games,
    measure_variation,
)

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
EVENTS, FIDE = SHARED / "events", SHARED / "fide" / "fide_ratings.parquet"
CALIBRATION = "stockfish15.1-quick"
LEAST_SHARE = 0.9
"""An event counts as evaluated if so much of its turns is in the store."""
STRETCHES = ((16, "9-16"), (32, "17-32"), (40, "33-40"), (10_000, "41 on"))
BANDS = ((2000, "under 2000"), (2200, "2000-2199"), (2400, "2200-2399"), (2600, "2400-2599"),
         (10_000, "2600 on"))  # fmt: skip
YEARS = ((2012, "to 2012"), (2014, "2013-2014"), (2016, "2015-2016"), (10_000, "2017 on"))
WORDS = {
    "turn_dispersion": "single turns: variance over information",
    "neighbour_covariance": "same player two plies apart, Elo²",
    "opponent_covariance": "opponents one ply apart, Elo²",
    "game_covariance": "opponents' whole games, less events, Elo²",
    "game_dispersion": "φ, player-games: variance over information",
    "game_sd": "form beyond φ, points",
    "player_sd": "players of equal Elo, points",
    "event_sd": "events, points",
    "offset": "IPR over Elo in the mean, points (not applied)",
    "elo_slope": "the same, for each point of Elo",
    "mm_dispersion": "hits of player-games: variance over the agents'",
    "ad_dispersion": "errors of player-games: variance over the agents'",
    "mm_factor": "z of the match rate of players: sd",
    "ad_factor": "z of the error of players: sd",
}


def estimation_events() -> list[Path]:
    """Return the events that components may be estimated from; never those kept for the test."""
    index = pl.read_csv(EVENTS / "index.csv").filter(pl.col("part") == "estimate")
    return [EVENTS / name for name in index["file"]]


def plan_of(calibration: Calibration) -> Plan:
    """Return the plan of the set-up that a calibration is for, which its words end with."""
    plan = parse_plan(calibration.setup_text.rpartition(", ")[2])
    if plan is None:
        raise SystemExit(f"{calibration.name} does not say the plan of its engine")
    return plan


def read_events(paths: Sequence[Path], store: str, plan: Plan, workers: int) -> pl.DataFrame:
    """Return the decisions of the events that the store holds, each with its file's name."""
    allowed = {path.resolve() for path in estimation_events()}
    tables = []
    for path in paths:
        if path.resolve() not in allowed:
            raise SystemExit(f"{path.name} is not of part `estimate`: left for the test")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MissingEvaluationsWarning)
            try:
                read = mp.decisions(path, store, plan=plan, workers=workers)
            except mp.errors.MilepostError:
                continue  # nothing of it is in the store
        asked = read.counts["turns in"] - read.counts.get("book", 0)
        if read.counts.get("not analysed", 0) > (1 - LEAST_SHARE) * asked:
            continue
        print(f"{path.stem}: {len(read):,} turns", file=sys.stderr, flush=True)
        tables.append(read.table.with_columns(pl.lit(path.stem).alias("file")))
    if not tables:
        raise SystemExit("no event of part `estimate` is in the store")
    return pl.concat(tables, how="diagonal_relaxed").filter(pl.col("mover_elo").is_not_null())


def codes(texts: pl.Series) -> Ints:
    """Return a code for each text."""
    return texts.cast(pl.String).fill_null("").rank("dense").cast(pl.Int64).to_numpy()


def offsets(
    said: AtOwnElo, table: pl.DataFrame, names: pl.Series, variation: PlayerVariation
) -> pl.DataFrame:
    """Return by group how far its turns read above their Elo, with the error of its components.

    The offset of a group is Σu / ΣI. Its error has φ, and players and events as they fall into it.
    """
    u, information = said.score * said.weights, said.information * said.weights
    players, games, events = (codes(table[name]) for name in ("mover", "game_id", "file"))
    rows = []
    for name in names.unique(maintain_order=True).to_list():
        here = (names == name).to_numpy()
        total = float(information[here].sum())
        variance = variation.game_dispersion.value / total
        for component, members in ((variation.player_sd, players), (variation.event_sd, events)):
            _, code = np.unique(members[here], return_inverse=True)
            share = np.bincount(code.ravel(), weights=information[here]) / total
            variance += component.value**2 * float((share**2).sum())
        rows.append(
            {
                "group": name,
                "turns": int(here.sum()),
                "games": len(np.unique(games[here])),
                "players": len(np.unique(players[here])),
                "Elo": float(np.average(table["mover_elo"].to_numpy()[here])),
                "IPR - Elo": float(u[here].sum()) / total,
                "error of the turns": float(np.sqrt(variation.game_dispersion.value / total)),
                "error, all": float(np.sqrt(variance)),
            }
        )
    return pl.DataFrame(rows)


def banded(values: pl.Series, steps: Sequence[tuple[int, str]], *, below: bool) -> pl.Series:
    """Return the name of the step that each value lies in."""
    limits = np.array([limit for limit, _ in steps])
    numbers = values.to_numpy()
    place = np.searchsorted(limits, numbers + 1 if below else numbers)
    return pl.Series([steps[min(at, len(steps) - 1)][1] for at in place])


def dispersion_by_size(gathered: PlayerGames, parts: int = 3) -> list[dict[str, float]]:
    """Return φ of short, middle and long player-games: the model takes it for the same."""
    answer = []
    order = np.array_split(np.argsort(gathered.information), parts)
    for rows in order:
        taken = PlayerGames(
            **{each.name: getattr(gathered, each.name)[rows] for each in fields(gathered)}
        )
        phi = MixedModel(taken.units()).fit({UNIT: 0.0}).components[DISPERSION]
        answer.append({"turns a player-game": float(taken.turns.mean()), "φ": phi})
    return answer


def next_changes(table: pl.DataFrame) -> pl.DataFrame:
    """Return by player and file how far FIDE's rating at the end of next year is from the Elo."""
    rows = []
    for name in table["file"].unique().to_list():
        text = (EVENTS / f"{name}.pgn").read_text(encoding="utf-8", errors="replace")
        for side in ("White", "Black"):
            for game in text.split("[Event ")[1:]:
                tags = dict(re.findall(r'\[(\w+) "([^"]*)"\]', game))
                if tags.get(f"{side}FideId"):
                    rows.append((name, tags[side], tags[f"{side}FideId"]))
    known = pl.DataFrame(rows, schema=["file", "mover_name", "fide_id"], orient="row").unique()
    people = pl.read_parquet(FIDE.with_name("fide_players.parquet")).select("pid", "fide_id")
    later = pl.read_parquet(FIDE).select("pid", pl.col("year").cast(pl.Int32) - 1, "last")
    turns = table.group_by("file", "mover", "mover_name").agg(
        pl.col("mover_elo").first(), pl.col("year").first()
    )
    return (
        turns.join(known, on=["file", "mover_name"])
        .join(people, on="fide_id")
        .join(later, on=["pid", "year"])
        .select("file", "mover", (pl.col("last") - pl.col("mover_elo")).alias("change"))
    )


def printed_error(table: pl.DataFrame, gathered: PlayerGames) -> list[dict[str, Any]]:
    """Return the slope of the moves on next year's change: 1 = they show all of it already."""
    if not FIDE.exists():
        return []
    change = next_changes(table)
    names = table.select("file", "mover").with_columns(
        pl.Series("player", codes(table["mover"])), pl.Series("event", codes(table["file"]))
    )
    by_code = {
        (row["player"], row["event"]): row["change"]
        for row in names.unique().join(change, on=["file", "mover"]).iter_rows(named=True)
    }
    first = {place + 1: code for place, code in enumerate(np.unique(codes(table["file"])))}
    # The events of player-games are numbered from 1, in the order of their codes.
    values = np.array(
        [
            by_code.get((player, first.get(where)), np.nan)
            for player, where in zip(gathered.players, gathered.events, strict=True)
        ],
        dtype=np.float64,
    )
    answer = []
    for title, chosen in (
        ("all", np.isfinite(values)),
        ("under 2050", np.isfinite(values) & (gathered.elo < 2050)),
        ("2050 on", np.isfinite(values) & (gathered.elo >= 2050)),
    ):
        if chosen.sum() < 50:
            continue
        part = gathered.units().take(chosen)
        moved = values[chosen] - values[chosen].mean()
        units = Units(
            part.values, part.information, part.first, part.second,
            np.column_stack([part.covariates, moved / 100]),
        )  # fmt: skip
        fit = MixedModel(units).fit({UNIT: 0.0})
        answer.append(
            {
                "Elo": title,
                "players": len(np.unique(part.first)),
                "sd of the change": float(moved.std()),
                "slope": f"{fit.coefficients[-1] / 100:.2f}",
                "error": f"{float(np.sqrt(fit.covariance[-1, -1])) / 100:.2f}",
            }
        )
    return answer


def section(title: str, table: pl.DataFrame) -> str:
    """Return a table as Markdown."""
    lines = [f"### {title}", "", "| " + " | ".join(table.columns) + " |"]
    lines.append("|" + "---|" * len(table.columns))
    for row in table.iter_rows():
        cells = [f"{value:,.0f}" if isinstance(value, float) else str(value) for value in row]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""])


def page(
    calibration: Calibration,
    variation: PlayerVariation,
    tables: dict[str, pl.DataFrame],
    sizes: list[dict[str, float]],
) -> str:
    """Return the part of the page: design, components, where events lie off their Elo."""
    design, moments = variation.design, variation.moments
    rests_on = (
        f"{design.turns:,} turns, {design.player_games:,} player-games, {design.players:,} players "
        f"({design.repeated_players:,} with two games or more), {design.events:,} events; "
        f"calibration {calibration.name}, map {calibration.map.kind}."
    )
    lines = [
        rests_on,
        "",
        "| component | estimate | 95 % | leave-out error | used in intervals |",
        "|---|---|---|---|---|",
    ]
    for name, words in WORDS.items():
        known: Component = getattr(variation, name)
        lines.append(
            f"| {words} | {number(known.value)} | {number(known.low)} to {number(known.high)} | "
            f"{number(known.se)} | {number(known.used)} |"
        )
    precision = variation.precision
    reached = (
        f"{precision:.0%} of it" if np.isfinite(precision) else "it is zero; see its upper bound"
    )
    player, game = moments.get("player_variance", np.nan), moments.get("game_variance", np.nan)
    by_pairs = (
        f"By moments of pairs instead: players {root(player)} (events included), games "
        f"{root(game)} points, φ {number(moments.get('game_dispersion', np.nan))}."
    )
    lines += [
        "",
        f"Precision reached on the variation of players: {reached}.",
        by_pairs,
        "φ by size: "
        + ", ".join(f"{row['φ']:.2f} at {row['turns a player-game']:.0f} turns" for row in sizes)
        + ".",
        "",
    ]
    return "\n".join(lines) + "\n" + "\n".join(section(*item) for item in tables.items())


def root(variance: float) -> str:
    """Return the root of a variance that may be negative."""
    return f"{np.sign(variance) * np.sqrt(abs(variance)):.0f}"


def number(value: float) -> str:
    """Return a number as people read it."""
    if not np.isfinite(value):
        return "–"
    return f"{value:,.0f}" if abs(value) >= 10 else f"{value:.2f}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", help="store of the events' evaluations")
    parser.add_argument("--events", nargs="*", type=Path, help="PGN files [default: all there]")
    parser.add_argument("--calibration", default=CALIBRATION, help="name or file")
    parser.add_argument("--output", help="write NAME.md and NAME.json")
    parser.add_argument("--decisions", type=Path, help="keep the decisions here, and read them")
    parser.add_argument("--update", type=Path, help="a calibration file to put the components into")
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args(arguments)
    if not EVENTS.exists():
        print("skipped: ../shared/data/events is not there")
        return 0
    calibration = load_calibration(options.calibration)
    if options.decisions and options.decisions.exists():
        table = pl.read_parquet(options.decisions).filter(pl.col("mover_elo").is_not_null())
        if "file" not in table.columns:
            table = table.with_columns(pl.col("event").alias("file"))
    elif options.store:
        paths = options.events or estimation_events()
        table = read_events(paths, options.store, plan_of(calibration), options.workers)
        if options.decisions:
            table.write_parquet(options.decisions)
    else:
        parser.error("give a store of evaluations, or a table of decisions that is there")
    path = calibration.map.path
    spreads = Spreads.from_table(table)
    own = spreads.rating
    assert own is not None
    said = at_own_elo(prepare(spreads, path.model), path, own, information=True)
    players, events = codes(table["mover"]), codes(table["file"])
    plies = table["ply"].cast(pl.Int64).to_numpy()
    variation = measure_variation(said, own, players, spreads.groups, events, plies)
    u, information = said.score * said.weights, said.information * said.weights
    gathered = gather_player_games(u, information, own, players, spreads.groups, events)
    sizes = dispersion_by_size(gathered)
    stretch = banded(table["move_number"], STRETCHES, below=False)
    band = banded(table["mover_elo"], BANDS, below=True)
    groups = {
        "By event": table["file"],
        "By Elo": band,
        "By year": banded(table["year"], YEARS, below=False),
        "By stretch of moves": stretch,
        "By Elo and stretch of moves": pl.Series(
            [f"{first}: {second}" for first, second in zip(band, stretch, strict=True)]
        ),
    }
    tables = {
        title: offsets(said, table, names, variation).sort("group")
        for title, names in groups.items()
    }
    behind = printed_error(table, gathered)
    if behind:
        tables["On next year's change of the FIDE rating"] = pl.DataFrame(behind)
    text = page(calibration, variation, tables, sizes)
    print(text)
    if options.output:
        Path(f"{options.output}.md").write_text(text, encoding="utf-8")
        figures: dict[str, Any] = {
            "calibration": calibration.name,
            "variation": variation.to_dict(),
            "dispersion by size": sizes,
            **{title: frame.to_dicts() for title, frame in tables.items()},
        }
        Path(f"{options.output}.json").write_text(
            json.dumps(figures, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )
    if options.update:
        replace(load_calibration(options.update), variation=variation).save(options.update)
    return 0


if __name__ == "__main__":
    sys.exit(main())
