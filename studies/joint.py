"""The joint history of real games: inflation, the top ten of all time, prediction; docs/joint.md.

    python -m studies.joint sites DECISIONS     sites of all periods, of deeper cuts, of champions
    python -m studies.joint modern              1970-2019: inflation, and processor time
    python -m studies.joint settings            the same under other settings
    python -m studies.joint long DECISIONS      1850-2023: the top ten, comparisons, champions

The sites must be there first. DECISIONS is a folder of decision tables (``milepost spreads``), one
or more a period, whose names begin with the period, and ``champions.parquet``; their turns are
drawn by ``studies.random_turns`` and ``studies.title_matches``. Results: ``../shared/data``.
Sites are kept in ``build/joint``; what was found goes into ``studies/figures/joint.json``, from
which ``python -m studies.joint_tables`` writes the tables and charts of docs/joint.md.
"""

from __future__ import annotations

import copy
import datetime
import sys
import time as clock
import unicodedata
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from studies.figure_file import FOLDER, FigureFile
from studies.otb_games import DATA, read_games

from milepost.api.decisions import decisions
from milepost.api.sites import expected_of
from milepost.api.sites import sites as make_sites
from milepost.history import TTT, History, Moves, MovesFit, Sweeping
from milepost.history.fit import _history, _records
from milepost.history.joint.join import join
from milepost.history.solver.convergence import converge
from milepost.history.ttt.from_model import fresh_state, learning_of, state_log_evidence
from milepost.io.provenance import read_provenance
from milepost.report.history.joint import joint_points

KEPT = Path("build/joint")
FIGURES = FOLDER / "joint.json"
PERIODS = {"1976-1979": (1976, 1979), "1991-1994": (1991, 1994), "2006-2009": (2006, 2009),
           "2011-2014": (2011, 2014), "2016-2019": (2016, 2019)}  # fmt: skip
REFERENCE = (2011, 2014)
LEARNED = TTT.for_chess()
FIXED = replace(LEARNED, newcomers=None)
BOOK_CUT = 15
"""The deeper cut of book moves: turns from this move on."""
MASTERS = 2150.0
"""From here on every period has players."""


def sites(folder: Path) -> None:
    """Make the tables of sites, and say what they rest on."""
    aliases = _aliases()
    tables = [pl.read_parquet(path) for path in sorted(folder.glob("[12]*.parquet"))]
    turns = pl.concat(tables, how="diagonal_relaxed").unique(
        ["game_id", "ply"], keep="first", maintain_order=True
    )
    setup = _setup(folder)
    for name, first in (("sites", None), ("sites_deep", BOOK_CUT)):
        made = make_sites(
            decisions(turns, setup=setup), aliases=aliases, design="random", first_move=first
        )
        made.save(KEPT / f"{name}.parquet")
        print(name, made, flush=True)
    champions = folder / "champions.parquet"
    if champions.exists():
        made = make_sites(
            decisions(champions, setup=setup),
            aliases=_champions(champions),
            design="random",
            reference=2600.0,
        )
        made.save(KEPT / "sites_champions.parquet")
        print("champions", made, flush=True)
    table = pl.read_parquet(KEPT / "sites.parquet")
    told = read_provenance(next(iter(sorted(folder.glob("[12]*.parquet")))))
    keep("about", {
        "results": "../shared/data/otb_results.parquet (TWIC, PGN Mentor, KingBase and others, to "
        "January 2023), fast games left out",
        "turns": "games of ../shared/data/mileposts, of 2016-2019 ../shared/data/events; drawn "
        "by studies/random_turns.py, book, repetitions, forced moves and positions beyond three "
        "pawns left out",
        "champions": "Debian's source package gnuchess-book 1.02; studies/title_matches.py",
        "setup": setup,
        "plan": "bullet: Stockfish 15.1, depth 6, every legal move",
        "evaluated": turns.height,
        "milepost": told.get("version"),
        "date": str(datetime.datetime.now(tz=datetime.UTC).date()),
    })  # fmt: skip
    keep("sites", {"turns": _turns_by_period(table), "bands": _bands(table).to_dicts()})
    print(_bands(table))


def _setup(folder: Path) -> str:
    told = read_provenance(next(iter(sorted(folder.glob("[12]*.parquet")))))
    return str(told["options"]["digest"])


def _aliases() -> pl.DataFrame:
    names = pl.read_csv(DATA / "name_aliases.csv.zst").select("spelling", name="key")
    return names.unique("spelling", keep="first")


def _champions(path: Path) -> pl.DataFrame:
    """The keys of the title matches' players: the best-known player of that name.

    Spellings differ in more than accents (Steinitz is William there, Tal Mihail): the first six
    letters of the family name and two of the first must agree.
    """
    names = pl.read_parquet(path, columns=["mover_name"])["mover_name"].unique()
    played = pl.scan_parquet(DATA / "otb_results.parquet").filter(pl.col("year") < 2005)
    keys = played.group_by(key="white_key").len().sort("len", descending=True).collect()
    known: dict[tuple[str, str], str] = {}
    for key in keys["key"]:
        known.setdefault(_letters(key), key)
    rows = [(name, known[_letters(name)]) for name in names if _letters(name) in known]
    return pl.DataFrame(rows, schema=["spelling", "name"], orient="row")


def _letters(name: str) -> tuple[str, str]:
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    family, _, first = plain.partition(",")
    return family.strip()[:6], first.strip()[:2]


def _bands(table: pl.DataFrame) -> pl.DataFrame:
    """Turns by period and band of 200 Elo."""
    band = (pl.col("reference") / 200).floor().cast(pl.Int64) * 200
    return (
        table.with_columns(period=_period_of(), band=band)
        .pivot("band", index="period", values="n", aggregate_function="sum", sort_columns=True)
        .sort("period")
    )


def _period_of() -> pl.Expr:
    expression = pl.lit(None, dtype=pl.String)
    for name, (first, last) in PERIODS.items():
        inside = pl.col("time").is_between(first, last)
        expression = pl.when(inside).then(pl.lit(name)).otherwise(expression)
    return expression


class Fitted:
    """A history of results, to which move evidence can be joined in several ways."""

    def __init__(self, first: int, last: int, model: TTT) -> None:
        games = read_games(first, last).filter(~pl.col("fast"))
        self.frame = games.select(
            "time", "player_1", "player_2", "score", "first_mover",
            weight=pl.lit(1.0), event=pl.lit(None, dtype=pl.String),
        )  # fmt: skip
        self.model, self.sweeping = model, Sweeping()
        begin = clock.process_time()
        self.records = _records(self.frame, model, "year")
        self.state = fresh_state(self.records, model)
        self.ended = converge(
            self.state, tolerance=self.sweeping.distance(model.beta), max_sweeps=200,
            learning=learning_of(model),
        )  # fmt: skip
        self.evidence = state_log_evidence(self.state)
        _history(
            self.state, self.frame, model, self.sweeping, self.ended, self.evidence, None
        )  # as for a user: the curves
        self.seconds = clock.process_time() - begin
        print(f"{self.records.games:,} games, {self.ended.sweeps} sweeps", flush=True)

    def joined(self, table: pl.DataFrame, options: Moves | None = None) -> History:
        """Return the joint history for some sites."""
        state = copy.deepcopy(self.state)
        found = join(state, table, options or Moves(), self.model, self.sweeping)
        history = _history(
            state, self.frame, self.model, self.sweeping, found.ended, self.evidence, found
        )
        print(history.moves, found.ended, flush=True)
        return history


def modern() -> None:
    """Inflation 1970-2019, newcomers learned and fixed; processor time beside results alone."""
    table = pl.read_parquet(KEPT / "sites.parquet")
    Fitted(1970, 1980, LEARNED).joined(table)  # compiles the kernels
    learned = Fitted(1970, 2019, LEARNED)
    begin = clock.process_time()
    history = learned.joined(table)
    joining = clock.process_time() - begin
    keep("time", {
        "games": learned.records.games, "ratio": 1.0 + joining / learned.seconds,
        "sweeps": learned.ended.sweeps, "sweeps of joining": history.sweeps,
    })  # fmt: skip
    found: dict[str, Any] = {"games": learned.records.games, "printed": _printed_levels()}
    found["learned"] = _levels(history)
    keep("modern", found)
    found["newcomers fixed"] = _levels(Fitted(1970, 2019, FIXED).joined(table))
    keep("modern", found)


def settings() -> None:
    """Inflation 1970-2019 under other settings."""
    table = pl.read_parquet(KEPT / "sites.parquet")
    deep = pl.read_parquet(KEPT / "sites_deep.parquet")
    masters = table.filter(pl.col("reference") >= MASTERS)
    learned = Fitted(1970, 2019, LEARNED)
    variants: dict[str, tuple[pl.DataFrame, Moves | None]] = {
        "a walk of 8 Elo a year": (table, Moves(era_drift=8.0)),
        f"turns from move {BOOK_CUT} on": (deep, None),
        f"Elo {MASTERS:.0f} or more": (masters, None),
        f"Elo {MASTERS:.0f} or more, bands weighted alike": (_weighted(masters), None),
        "players differ by 100 Elo, games by 150": (table, Moves(spread=100.0, form=150.0)),
        "a constant era": (table, Moves(era="constant")),
    }
    found = {}
    for name, (sites_table, options) in variants.items():
        levels = _levels(learned.joined(sites_table, options))
        levels.pop("years")
        found[name] = levels
        keep("settings", found)


def _weighted(table: pl.DataFrame) -> pl.DataFrame:
    """Sites whose information is weighted so that every period has the same mix of bands."""
    band = ((pl.col("reference") - MASTERS) / 200).floor().clip(0, 2).cast(pl.Int64)
    rows = table.with_columns(period=_period_of(), band=band)
    share = pl.col("information").sum()
    actual = rows.group_by("period", "band").agg(actual=share)
    whole = actual.with_columns(part=pl.col("actual") / pl.col("actual").sum().over("period"))
    target = whole.group_by("band").agg(target=pl.col("part").mean())
    whole = whole.join(target, on="band").with_columns(factor=pl.col("target") / pl.col("part"))
    rows = rows.join(whole.select("period", "band", "factor"), on=["period", "band"], how="left")
    return rows.with_columns(
        information=pl.col("information") * pl.col("factor"),
        game_information=pl.struct("game_information", "factor").map_elements(
            lambda row: [each * row["factor"] for each in row["game_information"]],
            return_dtype=pl.List(pl.Float64),
        ),
    ).select(table.columns)


def _turns_by_period(table: pl.DataFrame) -> list[dict[str, Any]]:
    grouped = table.with_columns(period=_period_of()).group_by("period").agg(
        turns=pl.col("n").sum(), players=pl.col("player").n_unique(), games=pl.col("games").sum(),
        information=(pl.col("information") / pl.col("dispersion")).sum(),
    )  # fmt: skip
    return grouped.sort("period").to_dicts()


def _levels(history: History) -> dict[str, Any]:
    """Level of the top 100 by period beside the reference, on both scales."""
    moves = history.moves
    assert moves is not None
    table = history.inflation("top:100", reference=REFERENCE)
    clock = moves.era["clock"].to_numpy()
    out: dict[str, Any] = {
        "slope": moves.slope, "slope_se": moves.slope_se, "spread": moves.spread,
        "form": moves.form, "log_density": moves.log_density, "turns": moves.turns,
        "used": moves.used, "left_out": dict(moves.left_out), "far": moves.far,
        "sweeps": history.sweeps, "converged": history.converged,
        "years": table.select(
            "time", "level", "low", "high", "change", "change_sd", "change_results", "era", "turns"
        ).to_dicts(),
    }  # fmt: skip
    base = (clock >= REFERENCE[0]) & (clock <= REFERENCE[1])
    for name, (first, last) in PERIODS.items():
        inside = (clock >= first) & (clock <= last)
        weights = inside / inside.sum() - base / base.sum()
        part = table.filter(pl.col("time").is_between(first, last))
        era = moves.era["era"].to_numpy()
        out[name] = {
            "joint": part["change"].mean(),
            "sd": _change_sd(table, moves, weights, (first, last)),
            "results": part["change_results"].mean(),
            "era": float(weights @ era),
        }
    return out


def _change_sd(table: pl.DataFrame, moves: MovesFit, weights: Any, span: tuple[int, int]) -> float:
    """Error of a span's level beside the reference: of the levels, and of the slope."""
    shared = max(float(weights @ moves.covariance @ weights), 0.0)
    skill = (table["level"] - table["era"]) / moves.slope
    lever = pl.DataFrame({"time": table["time"], "lever": skill + moves.era["era_by_slope"]})
    ends = [
        lever.filter(pl.col("time").is_between(*each))["lever"].to_numpy().mean()
        for each in (span, REFERENCE)
    ]
    return float(np.sqrt(shared + (moves.slope_se * (ends[0] - ends[1])) ** 2))


def _printed_levels() -> dict[str, Any]:
    """Mean of FIDE's top 100 by year."""
    lists = pl.read_parquet(DATA / "fide" / "fide_ratings.parquet")
    rating = "last" if "last" in lists.columns else lists.columns[-1]
    top = lists.sort("year", rating, descending=[False, True]).group_by("year").head(100)
    years = top.group_by("year").agg(level=pl.col(rating).mean(), players=pl.len()).sort("year")
    base = years.filter(pl.col("year").is_between(*REFERENCE))["level"].mean()
    out: dict[str, Any] = {"years": years.to_dicts(), "reference": base}
    for name, span in PERIODS.items():
        level = years.filter(pl.col("year").is_between(*span))["level"].mean()
        out[name] = level - base  # type: ignore[operator]
    return out


def long(folder: Path) -> None:
    """1850-2023: the top ten, famous comparisons, with the champions' title matches."""
    table = pl.read_parquet(KEPT / "sites.parquet")
    champions = pl.read_parquet(KEPT / "sites_champions.parquet")
    results = Fitted(1850, 2023, LEARNED)
    first = results.joined(pl.concat([table, champions], how="diagonal_relaxed"))
    # The champions have no Elo: their sites are taken again where the history expects them.
    turns = decisions(folder / "champions.parquet", setup=_setup(folder))
    champions = make_sites(
        turns,
        aliases=_champions(folder / "champions.parquet"),
        design="random",
        reference=expected_of(first),
    ).table
    history = results.joined(pl.concat([table, champions], how="diagonal_relaxed"))
    found: dict[str, Any] = {"champions": _turns_of_champions(champions)}
    for scale in ("joint", "results"):
        found[f"top {scale}"] = _top_ten(history, scale)
    found["compared"] = _compared(history)
    assert history.moves is not None
    found["turns"], found["games"] = history.moves.turns, history.games
    history = replace(history, names=_shown(history))
    points = joint_points(history, CHAMPIONS)
    found["curves"] = {
        name: [list(row) for row in part.select("time", "mean", "sd", "piece").iter_rows()]
        for (name,), part in points.group_by("player", maintain_order=True)
    }
    keep("long", found)
    from milepost.history import save_history

    save_history(history, KEPT / "long")


def _shown(history: History) -> dict[str, str]:
    return {key: _spaced(key) for key in history._lives.names}


def _spaced(key: str) -> str:
    return key.replace(",", ", ").replace(",  ", ", ")


def _turns_of_champions(table: pl.DataFrame) -> list[dict[str, Any]]:
    return table.group_by("time").agg(turns=pl.col("n").sum()).sort("time").to_dicts()


def _top_ten(history: History, scale: str) -> list[dict[str, Any]]:
    """Each player's best year, of players with 200 games in all and 20 in that year."""
    moves = history.moves
    assert moves is not None
    assert moves.results_only is not None
    curves = history.curves
    career = curves.group_by("player").agg(career=pl.col("games").sum())
    rows = curves.join(career, on="player").filter(pl.col("career") >= 200)
    rows = rows.filter(pl.col("games") >= 20)
    if scale == "joint":
        rows = rows.with_columns(value="intrinsic_mean")
    else:
        from milepost.history.joint.inflation import _results_only

        alone = _results_only(curves, moves)
        rows = rows.join(alone, on=["player", "time"]).with_columns(value="results")
    best = rows.sort("value", descending=True).unique("player", keep="first", maintain_order=True)
    best = best.head(12)
    out = []
    peaks = best.select("player", "time", "value").rows()
    for place, (player, time, value) in enumerate(peaks[:10]):
        following = peaks[place + 1]
        answer = history.compare(player, following[0], time, following[1], scale=scale)
        belief = answer.first
        row = {"player": _spaced(player), "year": time, "value": value, "sd": belief.sd,
               "beats next": answer.probability}  # fmt: skip
        if scale == "joint":
            row["turns"] = int(
                curves.filter(pl.col("player") == player)["moves_n"].fill_null(0).sum()
            )
        out.append(row)
        print(scale, row, flush=True)
    return out


_PAIRS = (
    ("Fischer, Robert James", 1972, "Kasparov, Gary", 1991),
    ("Karpov, Anatoly", 1977, "Kasparov, Gary", 1999),
    ("Kasparov, Gary", 1999, "Carlsen, Magnus", 2013),
    ("Fischer, Robert James", 1972, "Carlsen, Magnus", 2013),
    ("Capablanca, Jose Raul", 1921, "Fischer, Robert James", 1972),
)


def _compared(history: History) -> list[dict[str, Any]]:
    out = []
    for one, then, two, later in _PAIRS:
        row: dict[str, Any] = {"first": one, "at": then, "second": two, "at 2": later}
        for scale in ("joint", "results"):
            answer = history.compare(one, two, then, later, scale=scale)
            row[scale] = answer.probability
            row[f"{scale} difference"] = answer.difference.mean
            row[f"{scale} sd"] = answer.sd
        out.append(row)
        print(row, flush=True)
    return out


CHAMPIONS = (
    "Steinitz, William", "Lasker, Emanuel", "Capablanca, Jose Raul", "Alekhine, Alexander",
    "Botvinnik, Mikhail", "Fischer, Robert James", "Kasparov, Gary", "Carlsen, Magnus",
)  # fmt: skip


_FILE = FigureFile(FIGURES)
figures, keep = _FILE.part, _FILE.keep


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    command, *rest = sys.argv[1:]
    if command in ("sites", "long"):
        {"sites": sites, "long": long}[command](Path(rest[0]))
    else:
        {"modern": modern, "settings": settings}[command]()
