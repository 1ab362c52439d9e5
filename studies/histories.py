"""Histories beside what is known: FIDE's ratings, the champions, and three other games.

Run it with ``python -m studies.histories [chess|tennis|football|go ...]``; it needs
``../shared/data`` and says so if it is not there. The tables it prints stand in docs/histories.md.
Tennis results: Jeff Sackmann's tennis_atp, CC BY-NC-SA 4.0.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy import stats
from studies.otb_games import DATA, RESULTS, read_games
from studies.outcome_links import fit_link

from milepost.history import TTT, History, SkippedResultsWarning, Sweeping, fit_history, tune
from milepost.history.baselines.elo import run_elo
from milepost.history.draw_share import draw_share, naive_log_evidence
from milepost.history.prediction.forward import Forecast, forecast
from milepost.history.records import read_records
from milepost.history.ttt.from_model import fresh_state

CHAMPIONS = (
    "Morphy, Paul", "Steinitz, William", "Lasker, Emanuel", "Capablanca, Jose Raul",
    "Alekhine, Alexander", "Euwe, Max", "Botvinnik, Mikhail", "Smyslov, Vassily", "Tal, Mihail",
    "Petrosian, Tigran V", "Spassky, Boris V", "Fischer, Robert James", "Karpov, Anatoly",
    "Kasparov, Gary", "Kramnik, Vladimir", "Anand, Viswanathan", "Carlsen, Magnus",
)  # fmt: skip
JOINED = {"Tal, Mikhail": "Tal, Mihail"}
"""Keys that the table has twice for one champion."""
CHESS = TTT(
    beta=300.0, tau=40.0, sigma=400.0, draw=260.0, mu=2200.0, first_mover="learn",
    newcomers="learn",
)  # fmt: skip
LEAST_GAMES = 30


def main() -> None:
    """Print the tables that were asked for."""
    parts = {"chess": chess, "tennis": tennis, "football": football, "go": go}
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("parts", nargs="*", choices=[*parts, []], default=[])
    chosen = parser.parse_args().parts or list(parts)
    if not RESULTS.exists():
        print(f"skipped: no {RESULTS.name}")
        return
    warnings.simplefilter("ignore", SkippedResultsWarning)
    for name in chosen:
        print(f"\n## {name}\n")
        parts[name]()


def chess() -> None:
    """FIDE's ratings by year, and the champions' peaks."""
    games = read_games(1850, 2023).with_columns(
        pl.col("player_1").replace(JOINED), pl.col("player_2").replace(JOINED)
    )
    with _timed("ttt"):
        history = fit_history(games, CHESS, sweeping=Sweeping(tolerance=1.0))
    print(f"{history}\n")
    _against_fide(history)
    _champions(history)
    for year in (1900, 1925, 1950, 1972, 1985, 1999, 2013, 2022):
        top = history.rank(year, within=1.0, games=60).head(3)
        names = "; ".join(
            f"{p} {m:.0f} ± {s:.0f}" for p, m, s in top.select("player", "mean", "sd").rows()
        )
        print(f"- {year}: {names}")


def _against_fide(history: History) -> None:
    """Correlation with FIDE's rating of the year, of players with enough games by then."""
    rated = pl.read_parquet(DATA / "fide" / "fide_ratings.parquet").filter(pl.col("last") > 0)
    linked = _pids(history.curves["player"].unique())
    curves = history.curves.sort("player", "time").with_columns(
        so_far=pl.col("games").cum_sum().over("player")
    )
    table = (
        curves.filter(pl.col("so_far") >= LEAST_GAMES)
        .join(linked, on="player")
        .join(rated, left_on=["pid", "time"], right_on=["pid", "year"])
    )
    print(f"{linked.height:,} players found in FIDE's lists by a name that one player alone has\n")
    print("| year | players | Pearson | Spearman | points of ours a FIDE point | residual, FIDE |")
    print("|---|---|---|---|---|---|")
    for year in (1975, 1980, 1985, 1990, 1995, 2000, 2005, 2010, 2015, 2020):
        part = table.filter(pl.col("time") == year)
        ours, theirs = part["mean"].to_numpy(), part["last"].to_numpy().astype(float)
        line = stats.linregress(ours, theirs)
        off = np.std(theirs - line.intercept - line.slope * ours)
        rank = stats.spearmanr(ours, theirs).statistic
        print(f"| {year} | {part.height:,} | {line.rvalue:.3f} | {rank:.3f} "
              f"| {np.std(ours) / np.std(theirs):.2f} | {off:.0f} |")  # fmt: skip


def _pids(players: pl.Series) -> pl.DataFrame:
    """Players' numbers in FIDE's lists, by names and spellings that belong to one number only."""
    known = pl.read_parquet(DATA / "fide" / "fide_players.parquet")
    spellings = known.select("pid", name=pl.col("spellings").str.split("; ")).explode("name")
    plain = pl.col("name").str.to_lowercase().str.replace_all("[^a-z0-9]", "")
    names = pl.concat([known.select("pid", "name"), spellings]).drop_nulls()
    names = names.select("pid", plain=plain).filter(pl.col("plain") != "").unique()
    one = names.group_by("plain").agg(pl.len().alias("number"), pl.col("pid").first())
    one = one.filter(pl.col("number") == 1)
    keys = pl.DataFrame({"name": players}).select(player="name", plain=plain)
    joined = keys.join(one, on="plain").select("player", "pid")
    # Two keys that lead to one number are two spellings, or two persons: neither is trusted.
    return joined.filter(pl.len().over("pid") == 1)


def _champions(history: History) -> None:
    print("\n| champion | peak, mean ± sd | year | games | 95 % band five years before and after |")
    print("|---|---|---|---|---|")
    for name in CHAMPIONS:
        curve = history.curves.filter(pl.col("player") == name).sort("time")
        full = curve.filter(pl.col("games") >= 5)
        best = full.row(int(full["mean"].arg_max() or 0), named=True)
        around = [history.skill(name, best["time"] + years) for years in (-5, 5)]
        bands = ", ".join(f"{b.mean - 1.96 * b.sd:.0f}–{b.mean + 1.96 * b.sd:.0f}" for b in around)
        print(f"| {name} | {best['mean']:.0f} ± {best['sd']:.0f} | {best['time']} "
              f"| {int(curve['games'].sum()):,} | {bands} |")  # fmt: skip
    print()


def tennis() -> None:
    """Men's tour matches since 1968, by month."""
    frame = pl.read_parquet(DATA / "nonchess" / "tennis_atp.parquet")
    games = frame.select(
        time=pl.col("date").str.to_date("%Y%m%d"), player_1="winner", player_2="loser",
        score=pl.lit(1.0),
    ).filter(pl.col("player_1") != pl.col("player_2"))  # fmt: skip
    games = games.sort("time", maintain_order=True)
    history = _study(games, "month", 1990, first_mover=None, window=24, beta=(150, 250, 400))
    _tops(history, [1978, 1987, 1995, 2006, 2015, 2023], least=100, within=0.5)


def football() -> None:
    """Men's internationals, by month; home is the first mover where the ground is not neutral."""
    frame = pl.read_parquet(DATA / "nonchess" / "football_international.parquet")
    apart = pl.col("home_score") - pl.col("away_score")
    games = frame.drop_nulls(["home_score", "away_score"]).select(
        time=pl.col("date").str.to_date("%Y-%m-%d"), player_1="home_team", player_2="away_team",
        score=pl.when(apart > 0).then(1.0).when(apart < 0).then(0.0).otherwise(0.5),
        first_mover=pl.when(pl.col("neutral")).then(None).otherwise(1).cast(pl.Int8),
    ).sort("time", maintain_order=True)  # fmt: skip
    history = _study(games, "month", 1990, first_mover="learn", window=60, beta=(200, 300, 450))
    _tops(history, [1930, 1954, 1970, 1982, 1998, 2010, 2022], least=60, within=1.0)


def go() -> None:
    """Games of 9-dan accounts on a server, by month; Black moves first."""
    frame = pl.read_parquet(DATA / "nonchess" / "go_tygem_9d.parquet")
    games = frame.select(
        time=pl.col("date").str.slice(0, 10).str.to_date("%Y.%m.%d", strict=False),
        player_1="black", player_2="white", first_mover=pl.lit(1, dtype=pl.Int8),
        score=pl.when(pl.col("result").str.starts_with("B+")).then(1.0)
        .when(pl.col("result").str.starts_with("W+")).then(0.0),
    ).drop_nulls().filter(pl.col("player_1") != pl.col("player_2"))  # fmt: skip
    games = games.sort("time", maintain_order=True)
    history = _study(games, "month", 2006.75, first_mover="learn", window=12, beta=(200, 300, 450))
    _tops(history, [2006.0, 2007.0], least=200, within=0.5)


def _study(
    games: pl.DataFrame, period: str, border: float, *, first_mover: str | None, window: int,
    beta: tuple[int, ...],
) -> History:  # fmt: skip
    """Tune on what comes before the border, predict what comes after it, fit all."""
    clock = read_records(games, period=period)
    times = np.repeat(clock.clock, np.diff(clock.game_start))
    games = games[clock.row]
    early = pl.Series(times < border)
    first = games.filter(early)
    share = draw_share(first, period=period)
    with _timed("tuning"):
        found = tune(
            first, TTT(first_mover=first_mover, draw="share"),
            vary={"beta": beta, "tau": (60.0, 120.0)}, period=period,
            optimise=True, evaluations=60, window=0,
        )  # fmt: skip
    best = found.best.model
    numbers: dict[str, Any] = {"beta": best.beta, "tau": best.tau, "sigma": 400.0}
    print(f"{games.height:,} games, {clock.players:,} sides; tuned by evidence on the "
          f"{first.height:,} before {border:g}: beta {best.beta:.0f}, tau {best.tau:.0f} "
          f"(sigma 400), draws {100 * share:.1f} %")  # fmt: skip
    early_fit = fit_history(
        first, TTT(first_mover=first_mover, draw="share", **numbers), period=period
    )
    lead = float(early_fit.paths["first_mover"][-1])
    if first_mover:
        print(f"first mover: {lead:.0f} points")
    turned = _turned(games)
    # The link of all methods is fitted to the later half of what comes before the border.
    seen = early.to_numpy() & (times >= np.quantile(times[early.to_numpy()], 0.5))

    def predicted(margin: float, window: int) -> Forecast:
        model = TTT(
            stage="filter", draw=margin, first_mover=lead if first_mover else None, **numbers
        )
        return forecast(fresh_state(clock, model), window=window)

    with _timed("predicting"):
        by_share = predicted(early_fit.draw_margin, window)
        # The share of draws among unequals makes a margin too small: larger ones are tried.
        margins = [early_fit.draw_margin * f for f in ((1.2, 1.4, 1.6, 1.8) if share else (1.0,))]
        margin = min(margins, key=lambda m: float(_own(turned, predicted(m, 0))[seen].mean()))
        filtered, smoothed = predicted(margin, 0), predicted(margin, window)
    late = ~early.to_numpy()
    experienced = late & (_earlier(games, times) >= 20)
    print("\n| log-loss from the border on | all | both with 20 earlier games |\n|---|---|---|")
    decided = share == 0.0
    naive = -naive_log_evidence(share)
    print(f"| {'a coin' if decided else 'share of draws'} | {naive:.4f} | {naive:.4f} |")
    if share:
        print(f"| ttt, margin {early_fit.draw_margin:.0f} from the share of draws "
              f"| {_own(turned, by_share)[late].mean():.4f} "
              f"| {_own(turned, by_share)[experienced].mean():.4f} |")  # fmt: skip
        print(f"| (below: margin {margin:.0f}, the best of some before the border) | | |")
    for name, values in {
        "elo (K and link from before)": _elo(turned, times, seen, lead),
        "trueskill (the filter)": _own(turned, filtered),
        f"ttt, {window} periods smoothed again": _own(turned, smoothed),
        "… its link refitted as elo's": _linked(turned, smoothed, seen, lead),
    }.items():
        print(f"| {name} | {values[late].mean():.4f} | {values[experienced].mean():.4f} |")
    print(f"| games | {int(late.sum()):,} | {int(experienced.sum()):,} |\n")
    model = TTT(first_mover=first_mover, draw=margin, **numbers)
    return fit_history(games, model, period=period)


def _earlier(games: pl.DataFrame, times: Any) -> Any:
    """Games in earlier periods of that side of the two that has fewer."""
    rows = games.select("player_1", "player_2").with_columns(period=pl.Series(times))
    sides = [rows.select("period", player=c) for c in ("player_1", "player_2")]
    counts = pl.concat(sides).group_by("player", "period").len().sort("period")
    counts = counts.with_columns(before=pl.col("len").cum_sum().over("player") - pl.col("len"))
    counts = counts.select("player", "period", "before")
    for c in ("player_1", "player_2"):
        rows = rows.join(
            counts.rename({"player": c, "before": f"before_{c}"}), on=[c, "period"], how="left",
            maintain_order="left",
        )  # fmt: skip
    return (
        rows.select(pl.min_horizontal("before_player_1", "before_player_2")).to_series().to_numpy()
    )


class _Turned(NamedTuple):
    """Games with every other one turned round: tennis winners always stand first."""

    turn: Any
    one: Any
    two: Any
    score: Any
    home: Any

    def of(self, first: Any, second: Any) -> tuple[Any, Any]:
        """Turn two columns in the same way."""
        return np.where(self.turn, second, first), np.where(self.turn, first, second)

    def loss(self, chances: Any) -> Any:
        """The log-loss of each game."""
        column = np.where(self.score == 1.0, 0, np.where(self.score == 0.5, 1, 2))
        return -np.log(np.maximum(chances[np.arange(len(column)), column], 1e-12))


def _turned(games: pl.DataFrame) -> _Turned:
    kind = pl.Enum(pl.concat([games["player_1"], games["player_2"]]).unique())
    one, two = (
        games[c].cast(kind).to_physical().to_numpy().astype(int) for c in ("player_1", "player_2")
    )
    score = games["score"].to_numpy()
    turn = np.arange(len(score)) % 2 == 1
    moved = np.zeros(len(score))
    if "first_mover" in games.columns:
        moved = games["first_mover"].fill_null(0).to_numpy().astype(float)
    return _Turned(
        turn, np.where(turn, two, one), np.where(turn, one, two),
        np.where(turn, 1.0 - score, score), np.where(turn, -moved, moved),
    )  # fmt: skip


def _own(turned: _Turned, found: Forecast) -> Any:
    win, loss = turned.of(found.win, found.loss)
    return turned.loss(np.stack([win, found.draw, loss], axis=1))


def _linked(turned: _Turned, found: Forecast, seen: Any, lead: float) -> Any:
    one, two = turned.of(found.mean_1, found.mean_2)
    one = one + lead * turned.home
    variance = found.sd_1**2 + found.sd_2**2
    link = fit_link(one[seen], two[seen], turned.score[seen], variance=variance[seen])
    return turned.loss(link(one, two, variance, None))


def _elo(turned: _Turned, times: Any, seen: Any, lead: float) -> Any:
    """Elo at the start of each period; K, the first mover and the link from before the border."""
    chosen, best = None, np.inf
    for k, share in itertools.product((10.0, 20.0, 30.0, 45.0, 65.0), (0.3, 0.5) if lead else (0,)):
        bonus = share * lead * turned.home
        run = run_elo(
            turned.one, turned.two, turned.score, k=k, provisional_k=2.0 * k, advantage=bonus
        )
        one, two = _starts(turned.one, turned.two, times, run.rating_1, run.rating_2)
        link = fit_link((one + bonus)[seen], two[seen], turned.score[seen])
        if link.log_loss < best:
            best = link.log_loss
            chosen = turned.loss(link(one + bonus, two, np.zeros(len(one)), None))
    return chosen


def _starts(a: Any, b: Any, times: Any, one: Any, two: Any) -> tuple[Any, Any]:
    """The rating before a side's first game of the period, for all its games there."""
    sides = pl.DataFrame({"p": np.stack([a, b], 1).ravel(), "t": np.repeat(times, 2),
                          "r": np.stack([one, two], 1).ravel()})  # fmt: skip
    values = sides.select(pl.col("r").first().over("p", "t")).to_series().to_numpy()
    return values[0::2], values[1::2]


def _tops(history: History, times: list[float], *, least: int, within: float) -> None:
    for when in times:
        top = history.rank(when, within=within, games=least).head(5)
        names = ", ".join(f"{p} {m:.0f} ± {s:.0f}" for p, m, s in
                          top.select("player", "mean", "sd").rows())  # fmt: skip
        print(f"- {when:g}: {names}")
    total = history.curves.group_by("player").agg(pl.col("games").sum().alias("total"))
    peaks = (
        history.curves.join(total.filter(pl.col("total") >= 2 * least), on="player")
        .sort("mean", descending=True)
        .unique("player", keep="first", maintain_order=True)
        .head(10)
    )
    rows = peaks.select("player", "mean", "sd", pl.col("time").cast(pl.String)).rows()
    print(
        "- highest peaks: " + ", ".join(f"{p} {m:.0f} ± {s:.0f} ({t[:7]})" for p, m, s, t in rows)
    )


@contextmanager
def _timed(what: str) -> Iterator[None]:
    begun = time.monotonic()
    print(f"{what} …", file=sys.stderr, flush=True)
    yield
    print(f"{what}: {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
