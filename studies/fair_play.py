"""Does the check keep its promises? Honest performances, engines, simulated people.

    python -m studies.fair_play honest DATA --store DIR [--plan bullet] [--part test] -o DIR
    python -m studies.fair_play groups DATA --store DIR [--plan bullet] --part estimate -o DIR
    python -m studies.fair_play engines DATA --store DIR [--plan bullet] -o DIR
    python -m studies.fair_play simulated DATA --store DIR [--plan bullet] -o DIR

*honest*: complete events of a part (`../shared/data/events/index.csv`), all players: how p, z and E
come out among people whom nobody has reason to doubt (`studies.fair_play_power` replaces moves of
theirs). *groups*: z alone by rating and kind of event, to decide where the null has to be wider.
*engines*: games of engines against a rating of 2700.
*simulated*: honest people drawn on real turns. Figures are written as JSON, without names.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import binom, chi2, kstest
from scripts.write_honest import read_events

import milepost as mp
from milepost.fairplay.evidence.simulate import Draws, Simulator, weighed_draws
from milepost.fairplay.performances import Board, Performance, make_board, performance, performances
from milepost.fairplay.reference.honest import HonestPlayers, honest_players
from milepost.fairplay.reference.measure import LEAST_GAMES, enough_turns, reference_rows
from milepost.fairplay.screen import LEAST_TURNS, event_as_a_whole, quantile_band, screen
from milepost.report.charts import save_chart
from milepost.report.check.charts import qq_chart

LEAST_TURNS_OF_A_GAME = 15


def boards(given: argparse.Namespace, part: str) -> Iterator[tuple[str, Board, mp.Decisions]]:
    """Yield the events of a part that the store holds, with shipped people."""
    calibration = mp.load_calibration(given.calibration)
    honest = honest_players(calibration)
    if not honest.measured:
        raise SystemExit(f"no honest players are shipped for {calibration.name}")
    events = read_events(given.data, given.store, given.plan, part, given.events)
    for name, found in events.items():
        table = enough_turns(found.table, LEAST_TURNS)
        if not len(table):
            continue
        kept = found.filter(pl.col("mover").is_in(table["mover"].unique().implode()))
        yield name, make_board(kept.table, calibration, honest), kept


def tell(text: str) -> None:
    """Say how far it is."""
    print(text, file=sys.stderr, flush=True)


def share_row(p: np.ndarray, level: float) -> dict[str, float]:
    """A share of small p, beside what chance would give."""
    count = len(p)
    low, high = binom.ppf([0.025, 0.975], count, level) / count
    return {"level": level, "share": float((p < level).mean()), "low": low, "high": high}


def summary(rows: pl.DataFrame, p_name: str = "p") -> dict[str, Any]:
    """What honest performances look like."""
    e = np.exp(rows["ln_e"].to_numpy())
    z = rows["z"].to_numpy()
    p = rows[p_name].to_numpy()
    return {
        "performances": len(rows),
        "turns": int(rows["turns"].sum()),
        "elo": [float(np.min(rows["elo"].to_numpy())), float(np.max(rows["elo"].to_numpy()))],
        "z_mean": float(z.mean()),
        "z_se": float(z.std() / np.sqrt(len(z))),
        "z_sd": float(z.std()),
        "p": [share_row(p, level) for level in (0.05, 0.01)],
        "ks_p": float(kstest(p, "uniform").pvalue),
        "e_mean": float(e.mean()),
        "e_se": float(e.std() / np.sqrt(len(e))),
        "e_over_20": float((e > 20).mean()),
        "e_over_100": float((e > 100).mean()),
        "largest_e": float(e.max()),
    }


def study_honest(given: argparse.Namespace) -> dict[str, Any]:
    """Honest performances and player-games."""
    from scipy.stats import norm

    found: dict[str, Board] = {}
    scores: dict[tuple[str, str], float] = {}
    for name, board, _ in boards(given, given.part):
        tell(f"{name}: {len(board.table):,} turns")
        found[name] = board
        surplus = _surplus(board)
        scores |= {(name, player): value for player, value in surplus.items()}
    honest = next(iter(found.values())).honest
    rows = reference_rows(found, honest, LEAST_TURNS, LEAST_GAMES)
    rows = rows.with_columns(pl.Series("p_model", norm.sf(rows["z"].to_numpy())))
    known = honest.reference
    printed = [
        max(p, known.share_above("combined", z)) for p, z in rows.select("p_model", "z").iter_rows()
    ]
    rows = rows.with_columns(pl.Series("p", printed))
    games = _player_games(found)
    if given.plot:
        save_chart(qq_chart(quantile_band(rows["z"].to_numpy()), who="these events"), given.plot)
    new = ~pl.col("event").is_in(given.earlier)
    fresh = {}
    if given.earlier and len(rows.filter(new)):
        fresh = {
            "performances": summary(rows.filter(new), "p_model"),
            "player_games": summary(games.filter(new), "p_model"),
        }
    return {
        "calibration": given.calibration,
        "part": given.part,
        "events": sorted(found),
        "looked_at_before": sorted(given.earlier),
        "without_those": fresh,
        "performances": summary(rows, "p_model"),
        "printed_p": [share_row(rows["p"].to_numpy(), level) for level in (0.05, 0.01)],
        "player_games": summary(games, "p_model"),
        "by_elo": _by(rows, pl.col("elo") // 200 * 200),
        "by_kind": _by(rows, _kind()),
        "adjusted": {name: _mean_sd(rows, name) for name in ("z_match", "z_error", "z_likelihood")},
        "mirror": _mirror(rows, honest),
        "events_as_a_whole": _whole_events(found),
        "quantiles": np.sort(rows["z"].to_numpy()).round(3).tolist(),
        "over_performers": _over_performers(found, scores),
        "winners": _winners(found),
    }


def group_rows(rows: pl.DataFrame, key: pl.Expr) -> list[dict[str, Any]]:
    """What z is in groups of performances, and whether the null is too narrow there.

    `too_narrow`: the scores vary more than chi-square allows in 39 of 40 cases, the rule by which
    `milepost.fairplay.reference.measure` makes a null wider. `off`: the mean is further from 0 than
    two standard errors, players of an event taken for strangers.
    """
    answer = []
    for (label,), part in rows.with_columns(key.alias("key")).group_by("key"):
        z = part["z"].to_numpy()
        answer.append({
            "part": label if isinstance(label, str) else int(float(str(label))),
            "performances": len(z), "events": part["event"].n_unique(),
            "z_mean": float(z.mean()), "z_se": float(1 / np.sqrt(len(z))),
            "z_sd": float(z.std()), "squares": float((z**2).sum()),
            "too_narrow": bool((z**2).sum() > chi2.ppf(0.975, len(z))),
            "off": bool(abs(z.mean()) > 2 / np.sqrt(len(z))),
        })  # fmt: skip
    return sorted(answer, key=lambda row: str(row["part"]))


LOW = (1000.0, 1600.0)
"""Ratings below those of most events."""


def by_strength(found: Sequence[Board], low: float, high: float) -> list[dict[str, float]]:
    """Return what z of a band becomes if strengths there range wider, by so many points."""
    answer = []
    for extra in (0.0, 100.0, 200.0, 300.0):
        z = []
        for board in found:
            wider = replace(board.honest, bands=(*board.honest.bands, (low, high, extra)))
            z += [
                performance(replace(board, honest=wider), real.player).scored.combined
                for real in performances(board)
                if low <= real.rating < high
                and len(real) >= LEAST_TURNS
                and real.games >= LEAST_GAMES
            ]
        answer.append({"points": extra, "mean": float(np.mean(z)), "sd": float(np.std(z)),
                       "largest": max(z)})  # fmt: skip
    return answer


def study_groups(given: argparse.Namespace) -> dict[str, Any]:
    """z of honest performances by rating and kind of event, for events of part estimate alone."""
    if given.part != "estimate":
        raise SystemExit("groups decides about the null: it reads part estimate alone")
    rows = []
    used: set[str] = set()
    seen = []
    for name, board, _ in boards(given, given.part):
        seen.append(board)
        used |= set(board.honest.made["events"])
        rows += [
            {"event": name, "elo": real.rating, "z": real.scored.combined, "turns": len(real)}
            for real in performances(board)
            if len(real) >= LEAST_TURNS and real.games >= LEAST_GAMES
        ]
        tell(f"{name}: {len(rows)}")
    table = pl.DataFrame(rows).with_columns(
        pl.when(pl.col("elo") < LOW[1]).then(pl.lit("below 1600")).otherwise(pl.lit("other"))
        .alias("low")
    )  # fmt: skip
    fresh = table.filter(~pl.col("event").is_in(sorted(used)))
    return {
        "calibration": given.calibration,
        "events": sorted(table["event"].unique()),
        "measured_on": sorted(used & set(table["event"])),
        "all": [*group_rows(table, pl.col("low")), *group_rows(table, _kind())],
        "not_measured_on": [*group_rows(fresh, pl.col("low")), *group_rows(fresh, _kind())],
        "below_1600_by_strength": by_strength(seen, *LOW),
        "by_elo": group_rows(table, pl.col("elo") // 200 * 200),
    }


def _surplus(board: Board) -> dict[str, float]:
    from milepost.fairplay.results.luck import split_results

    table = split_results(board.table, board.calibration, board.ladder)
    return dict(table.select("player", "surplus").drop_nulls().iter_rows())


def _player_games(found: Mapping[str, Board]) -> pl.DataFrame:
    """Single games of 15 turns and more, each as a performance of its own."""
    from scipy.stats import norm

    rows = []
    for name, board in found.items():
        ids = board.table["game_id"].to_numpy()
        for real in performances(board):
            for game in real.game_ids:
                one = performance(board, real.player, keep=ids == game)
                if len(one) >= LEAST_TURNS_OF_A_GAME:
                    z = one.scored.combined
                    rows.append(
                        {"event": name, "elo": one.rating, "turns": len(one), "z": z,
                         "ln_e": one.evidence.ln_e, "p_model": float(norm.sf(z))}
                    )  # fmt: skip
    return pl.DataFrame(rows)


def _kind() -> pl.Expr:
    name = pl.col("event").str.to_lowercase()
    women = name.str.contains(r"_w_|women|girls|_wim|_wgm|ladies|_w$")
    young = name.str.contains(r"u16|u18|u20|junior|young|girls")
    return (
        pl.when(women & young)
        .then(pl.lit("girls"))
        .when(women)
        .then(pl.lit("women"))
        .when(young)
        .then(pl.lit("juniors"))
        .otherwise(pl.lit("others"))
    )


def _by(rows: pl.DataFrame, key: pl.Expr) -> list[dict[str, Any]]:
    answer = []
    for (label,), part in rows.with_columns(key.alias("key")).group_by("key", maintain_order=True):
        z, e = part["z"].to_numpy(), np.exp(part["ln_e"].to_numpy())
        answer.append(
            {
                "part": label if isinstance(label, str) else int(float(str(label))),
                "performances": len(part),
                "z_mean": float(z.mean()),
                "z_se": float(1 / np.sqrt(len(z))),
                "z_sd": float(z.std()),
                "match": [
                    float(part["z_match"].to_numpy().mean()),
                    float(part["z_match"].to_numpy().std()),
                ],
                "error": [
                    float(part["z_error"].to_numpy().mean()),
                    float(part["z_error"].to_numpy().std()),
                ],
                "e_mean": float(e.mean()),
            }
        )
    return sorted(answer, key=lambda row: str(row["part"]))


def _mean_sd(rows: pl.DataFrame, name: str) -> list[float]:
    values = rows[name].to_numpy()
    return [float(values.mean()), float(values.std())]


def _mirror(rows: pl.DataFrame, honest: HonestPlayers) -> dict[str, Any]:
    from scipy.stats import norm

    z = rows["mirror"].drop_nulls().to_numpy()
    if not len(z):
        return {}
    p = norm.cdf(z)
    return {
        "players": len(z), "mean": float(z.mean()), "sd": float(z.std()),
        "p": [share_row(p, level) for level in (0.05, 0.01)],
        "reference": len(honest.reference.mirror),
    }  # fmt: skip


def _whole_events(found: Mapping[str, Board]) -> list[dict[str, Any]]:
    answer = []
    for name, board in found.items():
        event = event_as_a_whole(performances(board))
        assert event is not None
        answer.append(
            {
                "event": name,
                "mean_index": event.mean_index,
                "low": event.mean_low,
                "high": event.mean_high,
                "outside_band": int(
                    ((event.quantiles["found"] < event.quantiles["low"])
                     | (event.quantiles["found"] > event.quantiles["high"])).sum()
                ),
                "players": event.players,
                "largest_p": event.largest_p,
            }
        )  # fmt: skip
    return answer


def _winners(found: Mapping[str, Board]) -> list[dict[str, Any]]:
    """The players with most points of each event."""
    rows = []
    for event, board in found.items():
        games = board.table.unique(["mover", "game_id"]).group_by("mover")
        points = games.agg(pl.col("score").sum()).sort("score", "mover", descending=True)
        real = performance(board, points["mover"][0])
        index = screen(real)
        rows.append(
            {"event": event, "points": points["score"][0], "elo": real.rating,
             "turns": len(real), "index": index.index, "e": float(np.exp(index.ln_e))}
        )  # fmt: skip
    return rows


def _over_performers(
    found: Mapping[str, Board], scores: Mapping[tuple[str, str], float]
) -> list[dict[str, float]]:
    """The players who scored most above their Elo: honest, and far above themselves by results."""
    best = sorted(scores, key=lambda key: -scores[key])[:20]
    rows = []
    for event, player in best:
        real = performance(found[event], player)
        index = screen(real)
        rows.append(
            {"surplus": scores[event, player], "elo": real.rating, "turns": len(real),
             "index": index.index, "e": float(np.exp(index.ln_e))}
        )  # fmt: skip
    return rows


def study_engines(given: argparse.Namespace) -> dict[str, Any]:
    """Engines of TCEC, nine games each, against a rating of 2700."""
    calibration = mp.load_calibration(given.calibration)
    honest = honest_players(calibration)
    games = given.data / "engines" / "tcec_superfinals_sample.pgn"
    (store,) = given.store
    found = mp.decisions(games, store, plan=given.plan)
    rows = []
    for rating in (2700, 2850):
        table = enough_turns(found.table, 150).with_columns(
            pl.lit(rating, dtype=pl.Int32).alias("mover_elo")
        )
        board = make_board(table, calibration, honest)
        rows += [
            {"engine": each.player, "against": rating, "games": each.games, "turns": len(each),
             "ln_e": each.evidence.ln_e, "ln_e_worst": each.evidence.ln_e_worst,
             "index": 50 + 5 * each.scored.combined}
            for each in performances(board)
        ]  # fmt: skip
    return {"calibration": given.calibration, "engines": rows}


@dataclass(frozen=True, eq=False)
class Pool:
    """Draws on the turns of one performance: people to judge, and what they are judged by."""

    judged: np.ndarray
    """ln E of the honest people whose p is asked for."""
    honest: np.ndarray
    """ln E of the honest draws that p is read off."""
    helped: np.ndarray
    """ln E of the helped ones."""

    def p(self) -> np.ndarray:
        """Return p of the judged, read off the other draws as a full test does."""
        return _draws(np.concatenate([self.honest, self.helped])).tails("ln_e", self.judged)[0]


def _draws(ln_e: np.ndarray) -> Draws:
    return Draws(ln_e, ln_e, ln_e, 1 / (0.5 + 0.5 * np.exp(np.minimum(ln_e, 600.0))))


def drawn_again(pool: Pool, rng: np.random.Generator) -> Pool:
    """Draw a whole pool anew, from a law under which p is right.

    All draws of the pool are the points of that law. With a share a of them helped, honest people
    have the point x with a weight of 1 / (1 - a + a E(x)), helped people with E(x) times that: so E
    is the ratio of the two, as it must be. Points come more than once, so they are shaken a little.
    """
    ln_e = np.concatenate([pool.judged, pool.honest, pool.helped])
    share = len(pool.helped) / len(ln_e)
    e = np.exp(np.minimum(ln_e, 600.0))
    alone = 1 / (1 - share + share * e)

    def draw(count: int, weights: np.ndarray) -> np.ndarray:
        picked = rng.choice(ln_e, size=count, p=weights / weights.sum())
        return picked + rng.uniform(-1e-9, 1e-9, count)

    return Pool(
        draw(len(pool.judged), alone),
        draw(len(pool.honest), alone),
        draw(len(pool.helped), e * alone),
    )


def uniformity(pools: Sequence[Pool], rng: np.random.Generator, repeats: int) -> dict[str, Any]:
    """Return how far p is from uniform, beside what whole studies give where p is right.

    All people of a performance are judged by the same draws, which have their own error, so neither
    binomial bands nor the table of Kolmogorov and Smirnov hold. The study is drawn anew `repeats`
    times instead, reference draws included.
    """
    levels = (0.9, 0.7, 0.5, 0.3, 0.1, 0.05, 0.01)

    def figures(those: Sequence[Pool]) -> np.ndarray:
        p = np.concatenate([each.p() for each in those])
        return np.array([float(kstest(p, "uniform").statistic), *((p < x).mean() for x in levels)])

    found = figures(pools)
    again = np.array([figures([drawn_again(each, rng) for each in pools]) for _ in range(repeats)])
    low, high = np.quantile(again, [0.025, 0.975], axis=0)
    return {
        "p": [
            {"level": level, "share": found[k], "low": low[k], "high": high[k]}
            for k, level in enumerate(levels, start=1)
        ],
        "ks_distance": found[0],
        "ks_distance_where_right": [low[0], float(np.median(again[:, 0])), high[0]],
        "ks_p": float((1 + (again[:, 0] >= found[0]).sum()) / (1 + repeats)),
        "repeats": repeats,
    }


def density_rows(pools: Sequence[Pool]) -> list[dict[str, float]]:
    """Return whether E is the ratio of the laws that helped and honest draws come from.

    If it is, the mean of any g(x) among helped draws is that of E g among honest ones. Here g is
    the weight above a place that a share of honest draws reaches. Beside it: by how much the judged
    reach that place oftener than the honest draws they are judged by, which is chance alone.
    """
    rows = []
    for share in (0.9, 0.7, 0.5, 0.3, 0.1, 0.05):
        sums = np.zeros(4)
        for pool in pools:
            honest = np.concatenate([pool.judged, pool.honest])
            at = np.quantile(honest, 1 - share)
            mine, theirs = (_draws(x).weights * (x >= at) for x in (honest, pool.helped))
            mine = np.exp(np.minimum(honest, 600.0)) * mine
            luck = (pool.judged >= at).mean() - (pool.honest >= at).mean()
            size = 1 / len(pool.judged) + 1 / len(pool.honest)
            sums += [mine.mean() - theirs.mean(), mine.var() / len(mine) + theirs.var() /
                     len(theirs), luck, share * (1 - share) * size]  # fmt: skip
        rows.append({
            "share": share,
            "apart": sums[0] / len(pools), "apart_z": sums[0] / np.sqrt(sums[1]),
            "luck": sums[2] / len(pools), "luck_z": sums[2] / np.sqrt(sums[3]),
        })  # fmt: skip
    return rows


def study_simulated(given: argparse.Namespace) -> dict[str, Any]:
    """Honest people drawn on real turns: p must be uniform, the mean of E 1 at most."""
    rng = np.random.default_rng(given.seed)
    real: list[Performance] = []
    for _, board, _ in boards(given, given.part):
        real += performances(board)
    # As many as asked for, of all ratings alike.
    real.sort(key=lambda each: each.rating)
    real = [
        real[k] for k in np.unique(np.linspace(0, len(real) - 1, given.most).round()).astype(int)
    ]
    pools, weights, zs = [], [], []
    for number, each in enumerate(real):
        simulator = Simulator(each)
        weighed = weighed_draws(simulator, rng, given.reference)
        weights.append(weighed.weights)
        count = given.draws // len(real) + (number < given.draws % len(real))
        drawn = simulator.draw(count, rng)
        zs.append(drawn.combined)
        ln_e = weighed.ln_e
        pools.append(Pool(drawn.ln_e, ln_e[: given.reference], ln_e[given.reference :]))
        tell(f"{number + 1} of {len(real)}")
    e = np.exp(np.concatenate([each.judged for each in pools]))
    z, w = np.concatenate(zs), np.concatenate(weights)
    return {
        "performances": len(e),
        "people": len(real),
        "elo": [real[0].rating, real[-1].rating],
        "reference_draws": given.reference,
        **uniformity(pools, rng, given.repeats),
        "density": density_rows(pools),
        # 1 if E is the ratio of the densities that helped and honest draws come from.
        "mean_weight": [float(w.mean()), float(w.std() / np.sqrt(len(w)))],
        "e_mean": float(e.mean()),
        "e_se": float(e.std() / np.sqrt(len(e))),
        "e_over_20": float((e > 20).mean()),
        "z_mean": float(z.mean()),
        "z_sd": float(z.std()),
    }


def main() -> None:
    """Run a study."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    studies = {
        "honest": study_honest, "groups": study_groups, "engines": study_engines,
        "simulated": study_simulated,
    }  # fmt: skip
    parser.add_argument("study", choices=list(studies))
    parser.add_argument("data", type=Path)
    parser.add_argument("--store", type=Path, required=True, action="append", help="repeatable")
    parser.add_argument("--plan", default="bullet")
    parser.add_argument("--calibration", default="stockfish15.1-bullet")
    parser.add_argument("--part", default="test", choices=["estimate", "test"])
    parser.add_argument("--events", nargs="*", default=[])
    parser.add_argument(
        "--earlier", nargs="*", default=[], help="events that were looked at before, for honest"
    )
    parser.add_argument("--plot", type=Path, help="where the QQ plot of honest goes")
    parser.add_argument("--most", type=int, default=48, help="real performances to draw people on")
    parser.add_argument("--repeats", type=int, default=1000, help="studies that are drawn anew")
    parser.add_argument("--draws", type=int, default=10_000)
    parser.add_argument(
        "--reference", type=int, default=400,
        help="honest draws, and as many helped ones, that the p of simulated people is read off",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=2011)
    parser.add_argument("-o", "--output", type=Path)
    given = parser.parse_args()
    figures = studies[given.study](given)
    text = json.dumps(figures, indent=1) + "\n"
    if given.output:
        given.output.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
