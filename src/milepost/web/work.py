"""The process that works on one set: ``python -m milepost.web.work``; what it needs comes on stdin.

It reads the games, lets the engine score their turns, and writes decisions and ratings into the
set's folder while they grow. It tells what happens in the set's journal. When its standard input
ends, because the server was stopped or killed, it stops as after Ctrl-C: what is finished is kept,
and the next run goes on from there.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from milepost.errors import (
    MilepostError,
    MissingEvaluationsWarning,
    NoCalibrationError,
    NotAnalysedError,
)
from milepost.io.progress import Progress
from milepost.web.sets.journal import Journal
from milepost.web.sets.shelf import GameSet, read_json, write_json

if TYPE_CHECKING:
    import polars as pl

    from milepost.api.decisions import Decisions

DONE, FAILED, STOPPED = 0, 1, 3
"""Exit codes."""
_TELL_SECONDS, _TELL_AT_LEAST = 0.5, 10.0
_GROW_SECONDS = 5.0
_GROW_SHARE = 4.0
"""Growing ratings take a fifth of the time at most."""
_MOST_TOLD = 60
"""Players whose ratings are told in one event: those with most turns."""


_SERVER_GONE = threading.Event()


@dataclass
class Worker:
    """Works on one set."""

    chosen: GameSet
    """The set."""
    store: Path
    """The evaluation store."""
    engine: str | None
    """The engine; None = none is to be used."""
    plan: str
    """What it searches."""
    workers: int
    """Engines at a time."""
    limits: Mapping[str, int] = field(default_factory=dict)
    """Half-moves of a game (`plies`), letters of a tag (`tag_letters`)."""
    look_at: str | None = None
    """Only look again at the costly turns of this player."""

    def __post_init__(self) -> None:
        self._journal: Journal = self.chosen.journal
        self._lock = threading.Lock()
        self._told = 0.0
        self._begun = time.monotonic()
        self._now = ""

    def run(self) -> None:
        """Do all that is to be done."""
        if self.chosen.about["kind"] == "results":
            self._fit_history(self.chosen.input, mapping=self.chosen.about.get("map") or None)
            return
        turns = self._read()
        if self.look_at is not None:
            self._look_again(turns, self.look_at)
            return
        setup = self._analyse(turns)
        self._phase("rating")
        self.rate(turns, setup)

    # Reading

    def _read(self) -> pl.DataFrame:
        """The turns of the games; what was read before is taken from the folder."""
        import polars as pl

        saved = self.chosen.path("turns.parquet")
        if saved.exists() and self.chosen.counts:
            return pl.read_parquet(saved)
        self._phase("reading")
        games = self._read_games()
        from milepost.games.load import read_turns

        turns, _ = read_turns(games)
        _save(turns, saved)
        self._fit_history(self.chosen.path("games.parquet"), needed=False)
        return turns

    def _read_games(self) -> pl.DataFrame:
        import polars as pl

        from milepost.api.games import Target, write_games

        raw = self.chosen.path("read.parquet")
        errors = self.chosen.path("errors.csv")
        summary = write_games(
            [self.chosen.input], Target(str(raw), errors=str(errors)), progress=self.tell_progress
        )
        games = pl.read_parquet(raw)
        refused = self._refused(games)
        games = games.filter(~refused["long"] & ~refused["tags"])
        reasons = {
            "unreadable": summary.findings.get("unreadable", 0),
            "another variant": summary.findings.get("variant", 0),
            "there twice": summary.findings.get("duplicate", 0),
            f"more than {self.limits['plies']} half-moves": int(refused["long"].sum()),
            f"a tag longer than {self.limits['tag_letters']} letters": int(
                (refused["tags"] & ~refused["long"]).sum()
            ),
        }
        known = sum(reasons.values())
        reasons["left out for another reason"] = summary.games - len(games) - known
        _save(games, self.chosen.path("games.parquet"))
        raw.unlink()
        write_json(
            self.chosen.path("counts.json"),
            {
                "found": summary.games,
                "kept": len(games),
                "skipped": {reason: count for reason, count in reasons.items() if count},
                "broken": summary.findings.get("broken", 0),
                "doubts": summary.findings.get("doubt", 0),
                "players": summary.players,
            },
        )
        self._tell("state", state="running", read=len(games))
        return games

    def _refused(self, games: pl.DataFrame) -> pl.DataFrame:
        """Which games are longer, or have longer tags, than a workbench takes."""
        import polars as pl

        texts = [name for name, kind in games.schema.items()
                 if kind == pl.String and name not in {"moves", "fen", "source"}]  # fmt: skip
        most = self.limits["tag_letters"]
        return games.select(
            (pl.col("plies") > self.limits["plies"]).fill_null(False).alias("long"),
            pl.any_horizontal(
                (pl.col(name).str.len_chars() > most).fill_null(False) for name in texts
            ).alias("tags"),
        )

    def _fit_history(
        self, source: Path, *, mapping: str | None = None, needed: bool = True
    ) -> None:
        """Skill through time, from the results alone."""
        import milepost as mp

        self._phase("history")
        folder = self.chosen.path("history")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                chosen = mp.api.histories.choose(
                    source, mapping=mapping, progress=self.tell_progress
                )
                history = mp.fit_history(
                    chosen, period=_period(chosen.table), progress=self.tell_progress
                )
            history.save(folder)
        except MilepostError as error:
            if needed:
                raise
            self.chosen.tell(history_missing=str(error))
        if needed:
            counts = {"found": chosen.table.height + chosen.lost, "kept": history.games,
                      "skipped": {**history.skipped, **({"unreadable": chosen.lost}
                                                        if chosen.lost else {})},
                      "players": history.players}  # fmt: skip
            write_json(self.chosen.path("counts.json"), counts)

    # Analysis

    def _analyse(self, turns: pl.DataFrame) -> str | None:
        """Let the engine score what the store lacks; return the set-up to read."""
        from milepost import api

        fixed = self.chosen.about.get("setup")
        if self.engine is None or fixed:
            return fixed or _only_setup(self.store)
        self._phase("analysing")
        # Sorted by the digest of the game: games of all players come in early.
        ordered = turns.sort("game_id", "ply")
        member = api.analyses.Member(api.analyses.make_plan(self.plan), self.engine)
        setup = api.analyses.engine_setups([member])[0].digest
        growing = _Growing(self, turns, setup)
        try:
            done = api.analyses.analyse(
                ordered, self.store, self.plan, engine=self.engine, workers=self.workers,
                progress=self.tell_progress,
            )  # fmt: skip
        except KeyboardInterrupt:
            growing.end()
            if not _SERVER_GONE.is_set():  # stopped by the user, who shall see what there is
                self.rate(turns, setup)
            raise
        finally:
            growing.end()
        if len(done.failed):
            self._tell("warning", text=f"{len(done.failed):,} positions could not be scored")
        return setup

    # Ratings

    def rate(self, turns: pl.DataFrame, setup: str | None) -> None:
        """Write decisions and ratings as they are now, and tell how they changed."""
        import milepost as mp
        from milepost import api

        if setup is None:
            self._note("No engine was found, and nothing of these games was scored before: "
                       "install Stockfish, then start the analysis.")  # fmt: skip
            return
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", MissingEvaluationsWarning)
                found = mp.decisions(turns, self.store, setup=setup)
        except NotAnalysedError:
            self._note("No turn is scored yet.")
            return
        self._save_decisions(found)
        try:
            # While the engine works, its progress is told, and not that of the ratings.
            tell = self.tell_progress if self._now == "rating" else None
            ratings = api.ratings.rate(found, progress=tell)
        except NoCalibrationError:
            self._note("There is no calibration for this engine: ratings need one "
                       "(milepost calibrate).")  # fmt: skip
            return
        ratings.save(self.chosen.path("ratings.parquet"))
        write_json(
            self.chosen.path("ratings.json"),
            {"level": ratings.level, "notes": list(ratings.notes),
             "calibration": ratings.calibration.name},
        )  # fmt: skip
        self._note("")
        best = ratings.shown.sort("n", descending=True).head(_MOST_TOLD)
        rows = [
            {"player": row["player"], "rating": row["rating"], "low": row["low"],
             "high": row["high"], "player_low": row["player_low"],
             "player_high": row["player_high"], "n": row["n"], "games": row["games"]}
            for row in best.iter_rows(named=True)
        ]  # fmt: skip
        for row, key in zip(rows, ratings.table.sort("n", descending=True)["player"], strict=False):
            row["id"] = player_id(self.chosen.id, key)
        self._tell("rating", rows=rows, turns=len(found), missing=found.missing)

    def _save_decisions(self, found: Decisions) -> None:
        table = found.table
        if found.moves is not None:
            table = table.with_columns(found.moves.alias("moves"))
        _save(table, self.chosen.path("decisions.parquet"))
        _save(found.left_out, self.chosen.path("left_out.parquet"))
        write_json(
            self.chosen.path("decisions.json"),
            {"setup": found.setup, "setup_details": dict(found.setup_details),
             "counts": dict(found.counts), "options": dict(found.options)},
        )  # fmt: skip

    def _look_again(self, turns: pl.DataFrame, player: str) -> None:
        """Let the engine look deeper at the turns that cost a player most; the store keeps it."""
        from milepost import api

        self._phase("looking")
        if self.engine is None:
            self._note("No engine was found: install Stockfish for a second look.")
            return
        look = api.review.SecondLook.beside(self.store, engine=True, program=self.engine)
        setup = read_json(self.chosen.path("decisions.json"))["setup"]
        plan = api.review.ReviewPlan(setup=setup, look=look)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MissingEvaluationsWarning)
            api.review.review(
                games_of(turns.lazy(), player), self.store, player=player, plan=plan,
                workers=self.workers, progress=self.tell_progress,
            )  # fmt: skip
        self._note("")
        self.chosen.tell(looked=time.time())

    # Telling

    def _phase(self, name: str) -> None:
        self._begun, self._told, self._now = time.monotonic(), 0.0, name
        self._tell("progress", phase=name, done=0, total=None, rate=None, eta=None)

    def tell_progress(self, news: Progress) -> None:
        """Tell how far it is, twice a second at most."""
        now = time.monotonic()
        # Seldom in a long job: its journal shall not grow for ever.
        pause = min(max(_TELL_SECONDS, (now - self._begun) / 600), _TELL_AT_LEAST)
        if now - self._told < pause and news.done != news.total:
            return
        self._told = now
        rate = news.done / max(now - self._begun, 1e-9)
        left = None if news.total is None else news.total - news.done
        self._tell(
            "progress", phase=self._now, done=news.done, total=news.total, rate=round(rate, 3),
            eta=round(left / rate) if left is not None and rate > 0 else None,
        )  # fmt: skip

    def _note(self, text: str) -> None:
        if self.chosen.about.get("note", "") != text:
            self.chosen.tell(note=text)
        if text:
            self._tell("warning", text=text)

    def _tell(self, kind: str, **data: Any) -> None:
        with self._lock:
            self._journal.write(kind, **data)


class _Growing:
    """Ratings anew while the engine works, in a thread of their own."""

    def __init__(self, worker: Worker, turns: pl.DataFrame, setup: str):
        self._worker, self._turns, self._setup = worker, turns, setup
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._grow, daemon=True)
        self._thread.start()

    def _grow(self) -> None:
        wait = _GROW_SECONDS
        while not self._ended.wait(wait):
            begun = time.monotonic()
            with suppress(MilepostError):  # what is wrong is told at the end
                self._worker.rate(self._turns, self._setup)
            wait = max(_GROW_SECONDS, _GROW_SHARE * (time.monotonic() - begun))

    def end(self) -> None:
        self._ended.set()
        self._thread.join()


def player_id(set_id: str, key: str) -> str:
    """Return what a player is called in addresses: no name stands there."""
    import hashlib

    return hashlib.sha256(f"{set_id} {key}".encode()).hexdigest()[:12]


def games_of(turns: pl.LazyFrame, player: str) -> pl.DataFrame:
    """Return all turns of the games of a player."""
    import polars as pl

    games = turns.filter(pl.col("mover") == player).select("game_id").unique()
    return turns.join(games, on="game_id", how="semi", maintain_order="left").collect()


def _period(results: pl.DataFrame) -> str:
    """Months for a few years of dates, years for more, and for numbers."""
    import polars as pl

    times = results["time"].drop_nulls()
    if not times.dtype.is_temporal():
        return "year"
    years = times.dt.year()
    if times.dtype != pl.Date or not len(years):
        return "year"
    return "month" if int(years.max()) - int(years.min()) <= 10 else "year"  # type: ignore[arg-type]


def _only_setup(store: Path) -> str | None:
    """The set-up of a store that has one; None = there is no store, or it is not clear."""
    from milepost import api

    if not (store / "store.json").exists():
        return None
    found = api.analyses.store_info(store).setups["setup"].to_list()
    return found[0] if len(found) == 1 else None


def _save(frame: pl.DataFrame, path: Path) -> None:
    from milepost.io.files import write_table

    write_table(frame, path)


def _end_with_server() -> None:
    """Stop when the server closes our standard input, or is no more."""
    while os.read(0, 4096):
        pass
    _SERVER_GONE.set()
    os.kill(os.getpid(), signal.SIGINT)


def _first_line() -> bytes:
    line = b""
    while not line.endswith(b"\n") and (letter := os.read(0, 1)):
        line += letter
    return line


def main() -> int:
    """Work on the set that the first line of standard input names."""
    # Not through sys.stdin: a thread that waits in it would hold its lock at the end.
    told = json.loads(_first_line())
    os.nice(int(told["niceness"]))
    _limit_memory(int(told["memory_bytes"]))
    threading.Thread(target=_end_with_server, daemon=True).start()
    chosen = GameSet(Path(told["set"]))
    worker = Worker(
        chosen, Path(told["store"]), told["engine"], told["plan"], told["workers"],
        told["limits"], told["look_at"],
    )  # fmt: skip
    try:
        worker.run()
    except KeyboardInterrupt:
        return STOPPED
    except MilepostError as error:
        write_json(chosen.path("failure.json"), {"text": str(error)})
        return FAILED
    return DONE


def _limit_memory(most: int) -> None:
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (most, most))


if __name__ == "__main__":
    raise SystemExit(main())
