"""What came out of a set: its tables, and ratings by anything, as the command line has them.

Decisions are read from the set's folder for each question and not held: the memory of the server
does not grow with the sets. Ratings that were asked for once are kept beside them.
"""

from __future__ import annotations

import hashlib
import json
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from milepost import api
from milepost.errors import InputError, MissingEvaluationsWarning, NotAnalysedError
from milepost.io.files import write_table
from milepost.web.safety.problems import RefusedError
from milepost.web.sets.shelf import GameSet, read_json, write_json
from milepost.web.work import games_of, player_id

if TYPE_CHECKING:
    from milepost.api.decisions import Decisions
    from milepost.api.review import Review

SPLITS = ("phase", "colour", "result", "clock", "opponent-band", "move-range", "event")
"""What a player's turns may be parted by on the pages."""
_REVIEWED = ("costly", "phases", "opponents", "games")
_WORKING = threading.Lock()
"""One thing is worked out at a time: the machine is the user's."""


@dataclass(frozen=True, eq=False)
class RatedTable:
    """Ratings, and what is to be known about them."""

    table: pl.DataFrame
    """One row a group, players by their keys; see `milepost.tables.RATINGS`."""
    by: tuple[str, ...]
    """What the turns were gathered by."""
    level: float
    """Probability of the intervals."""
    calibration: str
    """Name of the calibration."""
    notes: tuple[str, ...]
    """Caveats for all rows."""


@dataclass(frozen=True, eq=False)
class ReviewTables:
    """What a page shows of a review."""

    costly: pl.DataFrame
    """The turns that cost most; see `milepost.tables.REVIEW_COSTLY`."""
    phases: pl.DataFrame
    """The phases beside equals; see `milepost.tables.REVIEW_GROUPS`."""
    opponents: pl.DataFrame
    """Stronger, equal and weaker opponents, alike."""
    games: pl.DataFrame
    """Game by game; see `milepost.tables.REVIEW_GAMES`."""
    traps: str
    """How traps were dealt with, in a sentence."""
    notes: tuple[str, ...]
    """Caveats."""


@dataclass(frozen=True)
class Player:
    """A player of a set."""

    id: str
    """What stands in addresses."""
    key: str
    """The key in the tables."""
    name: str
    """The name as written."""


class SetTables:
    """The tables of one set."""

    def __init__(self, chosen: GameSet):
        self.chosen = chosen
        """The set."""

    def games(self) -> pl.DataFrame:
        """Return the games table, without moves and clocks."""
        path = self.chosen.path("games.parquet")
        if not path.exists():
            return pl.DataFrame(schema=dict.fromkeys(("game_id", "white", "black"), pl.String))
        heavy = ("moves", "clocks", "elapsed", "eval_cp", "eval_mate", "source")
        return pl.scan_parquet(path).drop(heavy, strict=False).collect()

    def game(self, game_id: str) -> dict[str, Any]:
        """Return one game with its moves.

        Raises
        ------
        RefusedError
            If there is none.
        """
        path = self.chosen.path("games.parquet")
        if path.exists():
            found = pl.scan_parquet(path).filter(pl.col("game_id") == game_id).collect()
            if len(found):
                return found.row(0, named=True)
        raise RefusedError(404, "No such game", "This set holds no game of that id.")

    def errors(self) -> pl.DataFrame:
        """Return what was wrong with the games."""
        path = self.chosen.path("errors.csv")
        return pl.read_csv(path, infer_schema=False) if path.exists() else pl.DataFrame()

    def names(self) -> dict[str, str]:
        """Return the players' names as written, by their keys."""
        return self._names

    @cached_property
    def _names(self) -> dict[str, str]:
        path = self.chosen.path("turns.parquet")
        if not path.exists():
            return {}
        pairs = (
            pl.scan_parquet(path)
            .select("mover", "mover_name")
            .drop_nulls()
            .unique("mover", keep="first", maintain_order=True)
            .collect()
        )
        return dict(pairs.iter_rows())

    def players(self) -> list[Player]:
        """Return the players, by name."""
        pairs = sorted(self.names().items(), key=lambda pair: (pair[1].casefold(), pair[0]))
        return [Player(player_id(self.chosen.id, key), key, name) for key, name in pairs]

    def player(self, identity: str) -> Player:
        """Return a player by the id in addresses.

        Raises
        ------
        RefusedError
            If there is none.
        """
        for each in self.players():
            if each.id == identity:
                return each
        raise RefusedError(404, "No such player", "This set holds no player of that id.")

    @property
    def rated(self) -> bool:
        """Whether there are ratings."""
        return self.chosen.path("ratings.parquet").exists()

    def decisions(self, wanted: pl.Expr | None = None) -> Decisions:
        """Return the decisions of a set, or some of them.

        Raises
        ------
        RefusedError
            If nothing is analysed yet.
        """
        path = self.chosen.path("decisions.parquet")
        told = read_json(self.chosen.path("decisions.json"))
        if not path.exists() or not told:
            raise RefusedError(409, "Not analysed yet", "No turn of this set is evaluated yet.")
        table = pl.scan_parquet(path)
        left_out = pl.scan_parquet(self.chosen.path("left_out.parquet"))
        if wanted is not None:
            table = table.filter(wanted)
            if set(wanted.meta.root_names()) <= set(left_out.collect_schema().names()):
                left_out = left_out.filter(wanted)
        frame = table.collect()
        about = self.chosen.about
        file = {"name": about["title"], "bytes": about["bytes"], "sha256": about["sha256"]}
        return api.decisions.Decisions(
            frame.drop("moves", strict=False),
            setup=told["setup"],
            setup_details=told["setup_details"],
            left_out=left_out.collect(),
            counts=told["counts"],
            inputs=(file,),
            options=told["options"],
            moves=frame["moves"] if "moves" in frame.columns else None,
        )

    def ratings(
        self, by: Sequence[str] = ("player",), player: str | None = None, event: str | None = None
    ) -> RatedTable:
        """Return ratings by some groupings, of all players or one, in all events or one.

        Parameters
        ----------
        by
            Groupings, as `milepost.rate` has them.
        player
            The key of a player.
        event
            The name of an event.

        Raises
        ------
        RefusedError
            If nothing is analysed yet.
        InputError
            If a grouping is not known.
        """
        groupings = tuple(dict.fromkeys(by))
        api.ratings.columns_needed(list(groupings))
        wanted = {"mover": player, "event": event}
        chosen = {column: value for column, value in wanted.items() if value is not None}
        if groupings == ("player",) and not chosen:
            return self._whole()
        table, about = self._kept(groupings, chosen)
        with _WORKING:
            if not (table.exists() and about.exists()):
                self._work_out(groupings, chosen, table, about)
        told = read_json(about)
        return RatedTable(
            pl.read_parquet(table), groupings, told["level"], told["calibration"],
            tuple(told["notes"]),
        )  # fmt: skip

    def _whole(self) -> RatedTable:
        """The ratings of all players, which the job has written."""
        told = read_json(self.chosen.path("ratings.json"))
        if not told or not self.rated:
            raise RefusedError(409, "Not analysed yet", "There are no ratings of this set yet.")
        table = pl.read_parquet(self.chosen.path("ratings.parquet"))
        return RatedTable(
            table, ("player",), told["level"], told["calibration"], tuple(told["notes"])
        )

    def _kept(self, by: Sequence[str], chosen: Mapping[str, str]) -> tuple[Path, Path]:
        source = self.chosen.path("decisions.parquet")
        if not source.exists():
            raise RefusedError(409, "Not analysed yet", "No turn of this set is evaluated yet.")
        status = source.stat()
        salt = json.dumps([list(by), dict(chosen), status.st_mtime_ns, status.st_size])
        name = hashlib.sha256(salt.encode()).hexdigest()[:20]
        folder = self.chosen.path("answers")
        folder.mkdir(exist_ok=True, mode=0o700)
        return folder / f"{name}.parquet", folder / f"{name}.json"

    def _work_out(
        self, by: Sequence[str], chosen: Mapping[str, str], table: Path, about: Path
    ) -> None:
        tests = [pl.col(column) == value for column, value in chosen.items()]
        rated = self.decisions(pl.all_horizontal(tests) if tests else None)
        if not len(rated):
            raise InputError("none of these turns is among the decisions")
        ratings = api.ratings.rate(rated, by=list(by))
        write_table(ratings.table, table, made=ratings.made)
        write_json(about, {"level": ratings.level, "notes": list(ratings.notes),
                           "calibration": ratings.calibration.name})  # fmt: skip

    def shown(self, rated: RatedTable) -> pl.DataFrame:
        """Return ratings as people read them: players by their names as written."""
        return api.ratings.without_keys(rated.table)

    def game_turns(self, game_id: str, store: Path) -> pl.DataFrame:
        """Return the analysed turns of a game beside what equals do; see `milepost.game_turns`.

        Raises
        ------
        RefusedError
            If nothing of the game is analysed yet.
        """
        turns = pl.scan_parquet(self.chosen.path("turns.parquet"))
        return self._kept_table(
            f"turns {game_id}",
            lambda setup: api.review.game_turns(
                turns.filter(pl.col("game_id") == game_id).collect(),
                store,
                plan=api.review.ReviewPlan(setup=setup),
            ),
        )

    def review(self, player: Player, store: Path, *, now: bool) -> ReviewTables | None:
        """Return what a review says of a player; see `milepost.review`.

        Parameters
        ----------
        player
            Whose.
        store
            The evaluation store.
        now
            Work it out if it was not yet; else there may be none.
        """
        looked = str(self.chosen.about.get("looked", ""))
        kept, about = self._kept(["review", looked], {"mover": player.key})
        paths = {name: kept.with_suffix(f".{name}.parquet") for name in _REVIEWED}
        with _WORKING:
            if not about.exists():
                if not now:
                    return None
                found = self._reviewed(player, store)
                for name, path in paths.items():
                    write_table(getattr(found, name), path)
                traps = api.review.trap_sentence(found.trap_sums)
                write_json(about, {"notes": list(found.notes), "traps": traps})
        told = read_json(about)
        tables = {name: pl.read_parquet(path) for name, path in paths.items()}
        return ReviewTables(**tables, traps=told["traps"], notes=tuple(told["notes"]))

    def _reviewed(self, player: Player, store: Path) -> Review:
        setup = read_json(self.chosen.path("decisions.json"))["setup"]
        mine = games_of(pl.scan_parquet(self.chosen.path("turns.parquet")), player.key)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MissingEvaluationsWarning)
            plan = api.review.ReviewPlan(setup=setup)
            return api.review.review(mine, store, player=player.key, plan=plan)

    def _kept_table(self, name: str, work_out: Callable[[str], pl.DataFrame]) -> pl.DataFrame:
        """A table that is worked out once for the decisions as they are now."""
        path, _ = self._kept([name], {})
        setup = read_json(self.chosen.path("decisions.json"))["setup"]
        with _WORKING:
            if not path.exists():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", MissingEvaluationsWarning)
                    try:
                        write_table(work_out(setup), path)
                    except NotAnalysedError as error:
                        raise RefusedError(
                            409, "Not analysed yet", "No turn of this game is evaluated yet."
                        ) from error
        return pl.read_parquet(path)
