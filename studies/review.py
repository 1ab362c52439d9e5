"""How far the figures of a review can be trusted, on turns that no fit has seen.

    python -m studies.review --store DIR --fitted RANDOM --held-out WHOLE --write docs/review_checks.md TURNS...

RANDOM and WHOLE are tables of evaluated turns that are in the store (`milepost store import DIR
RANDOM WHOLE --kind scored`): random turns of 2011 to 2014, and whole games of 1976 to 2009. TURNS
are turns tables (`milepost turns`) of the games that they come from. Writes one page: how often the
better move is found beside how often that is stated, falling for traps before and after the
correction, points lost beside those expected, and how phases read; for `quick`, and for `bullet`,
which is the beginning of the same searches. With ``--figures`` the correction of traps, learned on
the random turns, goes to the figures that the package ships. ``--more STORE`` names a store of
``bullet``: TURNS that it holds, of games that are not in WHOLE, join what bullet's correction is
learned on.
"""  # noqa: E501

from __future__ import annotations

import argparse
import json
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

import milepost as mp
from milepost.analysis.store.positions import stored_positions
from milepost.analysis.store.store import EvaluationStore
from milepost.api.review import EVERY_TURN
from milepost.choice.spreads import Spreads
from milepost.intrinsic.rating.likelihood_grid import climb
from milepost.intrinsic.review.baselines import PhaseBaselines, phase_baselines
from milepost.intrinsic.review.groups import PHASES
from milepost.intrinsic.review.shifts import measure_shift, without_shifts
from milepost.intrinsic.review.traps import TrapCorrection, find_traps, fit_traps
from milepost.intrinsic.review.turn_costs import (
    TurnCosts,
    measure_points_a_pawn,
    reliability,
    turn_costs,
)
from milepost.io.files import write_table

CALIBRATIONS = ("stockfish15.1-quick", "stockfish15.1-bullet")
EDGES = np.array([0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
TRAP_COLUMNS = ("trap_chance", "elo", "fell", "game_id")
TRAP_EDGES = np.array([0, 0.05, 0.1, 0.2, 0.3, 1.0])
SOURCE = "random turns of 2011-2014, in the calibration's fits"
MORE = f"{SOURCE}, and turns of 1976-2014 that are in none"
FIGURES = Path(mp.__file__).parent / "data" / "review"


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("turns", nargs="+", type=Path)
    parser.add_argument("--store", required=True)
    parser.add_argument("--fitted", type=Path, required=True)
    parser.add_argument("--held-out", type=Path, required=True)
    parser.add_argument("--write", type=Path, required=True)
    parser.add_argument("--more", help="a store of bullet with turns of other games")
    parser.add_argument("--figures", action="store_true")
    parser.add_argument("--keep", type=Path, help="keep what is measured here, and go on from it")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    turns = pl.concat([pl.read_parquet(path) for path in given.turns], how="diagonal_relaxed")
    parts = []
    with tempfile.TemporaryDirectory() as folder:
        keep = given.keep or Path(folder)
        keep.mkdir(parents=True, exist_ok=True)
        for name in CALIBRATIONS:
            files = {"fitted": given.fitted, "held_out": given.held_out}
            for part, scored in files.items():
                if not (keep / f"{name}.{part}.traps.parquet").exists():
                    found = measure(name, evaluated(turns, scored), given.store)
                    if part == "held_out":
                        (keep / f"{name}.md").write_text("\n".join(lines(name, found)), "utf-8")
                    write_table(found.traps(), keep / f"{name}.{part}.traps.parquet")
            fitted, held_out = (pl.read_parquet(keep / f"{name}.{part}.traps.parquet")
                                for part in files)  # fmt: skip
            source = SOURCE
            if given.more and "bullet" in name:
                path = keep / f"{name}.more.traps.parquet"
                if not path.exists():
                    other = stored_turns(turns, given.more, (given.fitted, given.held_out))
                    write_table(measure(name, other, given.more).traps(), path)
                fitted = pl.concat([fitted, pl.read_parquet(path)])
                source = MORE
            correction = fit_traps(*(fitted[each] for each in TRAP_COLUMNS), source=source)
            if given.figures:
                write_correction(name, correction)
            parts.append((keep / f"{name}.md").read_text("utf-8"))
            parts.append("\n".join(trap_lines(held_out, correction)))
            print("\n".join(parts[-2:]), flush=True)
    given.write.write_text("\n".join([_HEAD, *parts]) + "\n", encoding="utf-8")


_HEAD = """# Checks of the review

Do players do what a review says equals do? These tables compare the two on all turns of whole
games of 1976–2009, which no fit has seen. Errors are clustered by game. Figures in bold are off by
more than two standard errors.
[review.md](review.md) says what the words mean. `python -m studies.review` writes this page.
"""


def evaluated(turns: pl.DataFrame, scored: Path) -> pl.DataFrame:
    """The turns that were evaluated; a book position of other games is none of them."""
    keys = pl.read_parquet(scored, columns=["ply", "fen", "played", "date", "event"])
    keys = keys.rename({"fen": "position"}).with_columns(pl.col("ply").cast(turns["ply"].dtype))
    return turns.join(keys, on=["ply", "position", "played", "date", "event"], how="semi").unique(
        ["game_id", "ply"], maintain_order=True
    )


def stored_turns(turns: pl.DataFrame, store: str, seen: tuple[Path, Path]) -> pl.DataFrame:
    """The turns that a store of bullet holds, without those fitted and all held-out games."""
    fitted, held_out = (evaluated(turns, scored) for scored in seen)
    other = turns.join(held_out, on="game_id", how="anti")
    other = other.join(fitted, on=["game_id", "ply"], how="anti")
    there = EvaluationStore(store)
    digests = [digest for digest, about in there.known_setups().items()
               if about.get("plan", "").startswith("bullet")]  # fmt: skip
    named = ", ".join(f"'{digest}'" for digest in digests)
    held = there.query(f"SELECT DISTINCT position AS key FROM evaluations WHERE setup IN ({named})")  # noqa: S608
    return other.with_columns(stored_positions(other["position"])).join(held, on="key", how="semi")


@dataclass(frozen=True, eq=False)
class Measured:
    """Turns beside what the agents of their players' Elos do."""

    table: pl.DataFrame
    """The decisions."""
    costs: TurnCosts
    """What the agents do."""
    calibration: mp.Calibration
    """The agents."""
    baselines: PhaseBaselines
    """The shipped figures."""

    @property
    def decided(self) -> npt.NDArray[np.bool_]:
        """Which are decided."""
        return self.costs.table["decided"].to_numpy()

    @property
    def games(self) -> npt.NDArray[Any]:
        """Their games."""
        return self.table["game_id"].to_numpy()

    def traps(self) -> pl.DataFrame:
        """Traps that are not decided: the agents' chance and Elo, who fell, and the game."""
        found = find_traps(self.costs)
        found = found.filter(~self.decided[found["row"].to_numpy()])
        rows = found["row"].to_numpy()
        return found.with_columns(
            pl.Series("elo", self.costs.table["agent_elo"].to_numpy()[rows]),
            pl.Series("game_id", self.games[rows]),
        ).select(TRAP_COLUMNS)


def measure(name: str, turns: pl.DataFrame, store: str) -> Measured:
    """Lay turns beside the agents of one calibration, with all shipped figures."""
    calibration = mp.load_calibration(name)
    plan = "bullet" if "bullet" in name else "quick"
    table = mp.decisions(turns, store, plan=plan, rules=EVERY_TURN).table
    table = table.filter(pl.col("mover_elo").is_not_null())
    baselines = phase_baselines(calibration)
    own = table["mover_elo"].cast(pl.Float64).to_numpy()
    level = own + baselines.of_turns(table["phase"])
    costs = turn_costs(table, calibration, level, points_a_pawn=baselines.points_a_pawn)
    return Measured(table, costs, calibration, baselines)


def write_correction(name: str, correction: TrapCorrection) -> None:
    """Put the correction of traps to the shipped figures of a calibration."""
    path = FIGURES / f"{name}.json"
    values = json.loads(path.read_text(encoding="utf-8"))
    values["traps"] = {
        key: round(value, 4) if isinstance(value, float) else value
        for key, value in asdict(correction).items()
    }
    path.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")


def lines(name: str, held_out: Measured) -> Iterator[str]:
    """The part of the page about one calibration, without the traps."""
    plan = "bullet" if "bullet" in name else "quick"
    decided, games = held_out.decided, held_out.games
    found = (held_out.table["chosen"] == 0).to_numpy()
    chance = held_out.costs.table["best_chance"].to_numpy()
    yield f"\n## `{plan}` ({name})\n"
    count = f"{len(decided):,} turns of {held_out.table['game_id'].n_unique()} games"
    yield f"{count}, {int(decided.sum()):,} of them in decided positions.\n"
    yield "### How often equals find the better move\n"
    yield "Turns are sorted by the chance that the review states:\n"
    yield from _reliability(reliability(chance[~decided], found[~decided], games[~decided], EDGES))
    yield "\nThe same in decided positions, where a review does not state the chance:\n"
    yield from _reliability(reliability(chance[decided], found[decided], games[decided], EDGES))
    yield "\n### Points lost, and points expected to be lost\n"
    yield "Turns are sorted by the expected loss and cut into fifths:\n"
    yield from _expected(held_out.costs.table.filter(~decided), games[~decided])
    scores = held_out.table["score"].cast(pl.Float64)
    known = scores.is_not_null().to_numpy()
    value = held_out.costs.table["value"].to_numpy()[known]
    k, se = measure_points_a_pawn(value, scores.to_numpy()[known], games[known])
    yield "\n### Phases and the worth of a pawn\n"
    shipped = held_out.baselines.points_a_pawn
    yield (
        f"A pawn is worth k = {k:.3f} ± {se:.3f} in these games; the review takes {shipped}. "
        "Ratings of phases, less the players' own Elo:\n"
    )
    yield from _phases(held_out)


def trap_lines(traps: pl.DataFrame, correction: TrapCorrection) -> Iterator[str]:
    """The part of the page about one calibration's traps."""
    yield "\n### Falling for traps\n"
    yield (
        f"The correction was learned on {correction.traps:,} traps ({correction.source}): "
        f"intercept {correction.intercept:+.3f} ± {correction.intercept_se:.3f}, slope "
        f"{correction.slope:.3f} ± {correction.slope_se:.3f} on the logit of the agents' chance, "
        f"{correction.elo_slope:+.3f} ± {correction.elo_slope_se:.3f} for 400 Elo above 2000.\n"
    )
    for title, used in (("By the agents alone", None), ("Corrected", correction)):
        chance, elo, fell, where = (traps[each].to_numpy() for each in TRAP_COLUMNS)
        said = chance if used is None else used.apply(chance, elo)
        _, which = np.unique(where, return_inverse=True)
        gap = fell - said
        se = float(np.sqrt((np.bincount(which, weights=gap) ** 2).sum()))
        yield (
            f"{title}: of {len(said):,} traps, {said.sum():.0f} were expected to work and "
            f"{int(fell.sum())} did (difference {gap.sum():+.0f} ± {se:.0f}).\n"
        )
        yield from _reliability(reliability(said, fell, where, TRAP_EDGES), "traps")
        yield ""


def _reliability(rows: pl.DataFrame, what: str = "turns") -> Iterator[str]:
    yield f"| stated | {what} | mean stated | found | ± |"
    yield "|---|---|---|---|---|"
    for row in rows.iter_rows(named=True):
        found = f"{row['happened']:.3f}"
        if row["z"] is not None and abs(row["z"]) > 2:
            found = f"**{found}**"
        yield (
            f"| {row['from']:g}–{row['to']:g} | {row['turns']:,} | {row['stated']:.3f} | {found} "
            f"| {row['se']:.3f} |"
        )


def _expected(costs: pl.DataFrame, games: npt.NDArray[Any]) -> Iterator[str]:
    yield "| fifth | expected | lost | difference | ± |"
    yield "|---|---|---|---|---|"
    rank = costs["points_expected"].rank("ordinal").to_numpy()
    fifth = (rank - 1) * 5 // len(costs)
    for place in range(5):
        here = fifth == place
        part = costs.filter(here)
        gap = (part["points_lost"] - part["points_expected"]).to_numpy()
        _, which = np.unique(games[here], return_inverse=True)
        se = np.sqrt((np.bincount(which, weights=gap) ** 2).sum()) / len(gap)
        told = f"{gap.mean():+.4f}"
        yield (
            f"| {place + 1} | {part['points_expected'].to_numpy().mean():.4f} "
            f"| {part['points_lost'].to_numpy().mean():.4f} "
            f"| {f'**{told}**' if abs(gap.mean()) > 2 * se else told} | {se:.4f} |"
        )


def _phases(held_out: Measured) -> Iterator[str]:
    """How phases read in these old games, without and with the baselines of 2011 to 2018."""
    table = held_out.table.filter(~held_out.decided)
    ladder = climb(Spreads.from_table(table), held_out.calibration.map.path)
    after = without_shifts(ladder, held_out.baselines.of_turns(table["phase"]))
    yield "| phase | turns | above own Elo | with baselines |"
    yield "|---|---|---|---|"
    for phase in PHASES:
        here = (table["phase"] == phase).to_numpy()
        part = table.filter(here)
        own = part["mover_elo"].cast(pl.Float64).to_numpy()
        told = [measure_shift(each.take(here), own, part["mover"].to_numpy())
                for each in (ladder, after)]  # fmt: skip
        readings = " | ".join(f"{each.value:+.0f} ± {each.se:.0f}" for each in told)
        yield f"| {phase} | {told[0].turns:,} | {readings} |"


if __name__ == "__main__":
    main()
