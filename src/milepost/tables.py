"""The columns of every table that passes from one stage to the next.

A stage reads the table before it and returns the table after it; this module is the only agreement
between them. Every table is a `polars.DataFrame` in memory; `as_frame` lets pandas, Arrow and
anything else that speaks the Arrow interface in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from milepost.errors import TableError


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    name: str
    """Its name."""
    dtype: Any
    """Its polars type; `None` where several types are allowed (see `meaning`)."""
    meaning: str
    """What a value says, with its unit and its point of view."""
    required: bool = False
    """Whether a frame without it is refused; others are filled with nulls."""


@dataclass(frozen=True)
class Table:
    """The columns of one table, and what one row of it is."""

    name: str
    """The table's name."""
    row: str
    """What one row is."""
    columns: tuple[Column, ...]
    """Its columns, in their order."""

    @property
    def names(self) -> list[str]:
        """The names of the columns, in their order."""
        return [column.name for column in self.columns]

    @property
    def dtypes(self) -> dict[str, Any]:
        """The types of those columns that have one fixed type."""
        return {column.name: column.dtype for column in self.columns if column.dtype is not None}

    def __getitem__(self, name: str) -> Column:
        """Return a column by its name."""
        return next(column for column in self.columns if column.name == name)

    def empty(self) -> pl.DataFrame:
        """Return a frame with the columns of this table and no rows."""
        return pl.DataFrame(
            schema={column.name: column.dtype or pl.Date for column in self.columns}
        )

    def conform(self, data: Any) -> pl.DataFrame:
        """Return `data` as a frame with this table's columns first, in order and type.

        Missing optional columns come as nulls; columns that the table does not know are kept,
        behind the others.

        Parameters
        ----------
        data
            A polars or pandas frame, an Arrow table, or anything `as_frame` takes.

        Returns
        -------
        polars.DataFrame

        Raises
        ------
        TableError
            If a required column is missing, or a value does not fit the column's type.
        """
        frame = as_frame(data)
        if self._is_conform(frame):
            return frame
        missing = [c.name for c in self.columns if c.required and c.name not in frame.columns]
        if missing:
            raise TableError(
                f"the {self.name} table needs the columns {', '.join(missing)}; "
                f"found {', '.join(frame.columns) or 'none'}"
            )
        # An expression for each column would take longer than all that most frames need.
        types = frame.schema
        changed = []
        for column in self.columns:
            if column.name not in types:
                changed.append(pl.lit(None, dtype=column.dtype or pl.Date).alias(column.name))
            elif column.dtype not in (None, types[column.name]):
                changed.append(pl.col(column.name).cast(column.dtype))
        names = self.names
        others = set(types).difference(names)
        try:
            changed_frame = frame.with_columns(changed) if changed else frame
            return changed_frame[[*names, *(name for name in types if name in others)]]
        except pl.exceptions.PolarsError as error:
            # The first line says what; the others are hints for those who write expressions.
            reason = str(error).strip().splitlines()[0]
            wanted = {column.name: column.dtype for column in self.columns}
            wrong = wrong_value(frame, wanted) or f"holds a value of a wrong type: {reason}"
            raise TableError(f"the {self.name} table {wrong}") from error

    def _is_conform(self, frame: pl.DataFrame) -> bool:
        """Whether a frame has the columns first, in order and type: then nothing is to be done."""
        types = list(frame.schema.items())[: len(self.columns)]
        return len(types) == len(self.columns) and all(
            name == column.name and column.dtype in (None, dtype)
            for (name, dtype), column in zip(types, self.columns, strict=True)
        )


def wrong_value(frame: pl.DataFrame, types: Mapping[str, Any]) -> str:
    """Say which value of a table has the wrong type, and in which row; empty if all can be read.

    Parameters
    ----------
    frame
        The table as it was read.
    types
        The types that columns shall have; `None` = any.
    """
    for name, dtype in types.items():
        if dtype is None or name not in frame.columns:
            continue
        try:
            read = frame[name].cast(dtype, strict=False)
        except pl.exceptions.PolarsError:
            return f"has a column {name} of a wrong type: {frame.schema[name]}"
        wrong = (read.is_null() & frame[name].is_not_null()).arg_true()
        if len(wrong):
            why = "not a number" if dtype.is_numeric() else f"not of the type {dtype}"
            if frame.schema[name].is_numeric() and dtype.is_numeric():
                why = "out of range"
            value = frame[name][wrong[0]]
            return f"has {value!r} in row {wrong[0] + 1}, column {name}: {why}"
    return ""


def is_frame(data: Any) -> bool:
    """Whether `data` is a table in memory that `as_frame` takes, and no name of a file."""
    return isinstance(data, pl.DataFrame | pl.LazyFrame) or any(
        hasattr(data, name) for name in ("__arrow_c_stream__", "__dataframe__")
    )


def as_frame(data: Any) -> pl.DataFrame:
    """Return `data` as a polars frame: polars as it is, pandas and others through Arrow.

    Raises
    ------
    TableError
        If `data` is no table.
    """
    if isinstance(data, pl.DataFrame):
        return data
    if isinstance(data, pl.LazyFrame):
        return data.collect()
    if is_frame(data):
        try:
            return pl.DataFrame(data)
        except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
            raise TableError(f"this {type(data).__name__} is no table: {error}") from error
    raise TableError(f"expected a polars, pandas or Arrow table, got {type(data).__name__}")


_TEXT = pl.String
_COUNT = pl.Int32
_ELO = pl.Int32

GAMES = Table(
    "games",
    "one game",
    (
        Column("game_id", _TEXT, "digest of the tags and moves: the same in every run", True),
        Column("white", _TEXT, "White's name as the source spells it", True),
        Column("black", _TEXT, "Black's name as the source spells it", True),
        Column("white_key", _TEXT, "White's key in the players table; null = no name"),
        Column("black_key", _TEXT, "Black's key in the players table; null = no name"),
        Column("white_elo", _ELO, "White's Elo in the tags; null = not given"),
        Column("black_elo", _ELO, "Black's Elo in the tags; null = not given"),
        Column("white_fide_id", pl.Int64, "White's FIDE id in the tags"),
        Column("black_fide_id", pl.Int64, "Black's FIDE id in the tags"),
        Column("white_title", _TEXT, "White's title in the tags"),
        Column("black_title", _TEXT, "Black's title in the tags"),
        Column("white_team", _TEXT, "White's team in the tags"),
        Column("black_team", _TEXT, "Black's team in the tags"),
        Column("date", _TEXT, "YYYY.MM.DD, with ?? for unknown parts; null = nothing known"),
        Column("year", _COUNT, "the year of the date"),
        Column("event", _TEXT, "the event's name"),
        Column("site", _TEXT, "the place, or the address of the game on a server"),
        Column("round", _TEXT, "the round as given; null = not given"),
        Column("time_control", _TEXT, "the TimeControl tag as given"),
        Column("speed", _TEXT, "classical, rapid, blitz, bullet, correspondence; null = not known"),
        Column("termination", _TEXT, "the Termination tag as given"),
        Column("result", _TEXT, "1-0, 1/2-1/2, 0-1, or * for none"),
        Column("variant", _TEXT, "standard or chess960", False),
        Column("fen", _TEXT, "the position the game began from; null = the usual one"),
        Column("plies", _COUNT, "half-moves read, all of them legal"),
        Column("full_moves", _COUNT, "number of the last move; 0 = no moves given"),
        Column("moves", _TEXT, "the moves in UCI notation, separated by blanks", True),
        Column("clocks", pl.List(pl.Float64), "seconds left after each move (%clk); null = none"),
        Column("elapsed", pl.List(pl.Float64), "seconds spent on each move (%emt); null = none"),
        Column("eval_cp", pl.List(pl.Int32), "centipawns for White after each move (%eval)"),
        Column("eval_mate", pl.List(pl.Int32), "mate in n for White after each move (%eval #n)"),
        Column("broken", pl.Boolean, "whether moves were lost (see the errors table)"),
        Column("source", _TEXT, "the file the game stands in"),
        Column("line", pl.Int64, "the line in that file where the game begins, from 1"),
    ),
)

RESULTS = Table(
    "results",
    "one comparison",
    (
        Column("time", None, "a date, or a number on any scale (years, seasons)", True),
        Column("player_1", _TEXT, "key of the first player", True),
        Column("player_2", _TEXT, "key of the second player", True),
        Column("score", pl.Float64, "1 if player_1 won, 0.5 for a draw, 0 if player_2 won", True),
        Column("first_mover", pl.Int8, "1 or 2: who moved first (White); null = nobody"),
        Column("elo_1", _ELO, "rating of player_1 in the source"),
        Column("elo_2", _ELO, "rating of player_2 in the source"),
        Column("event", _TEXT, "the event's name"),
        Column("round", _TEXT, "the round as given"),
        Column("speed", _TEXT, "classical, rapid, blitz, bullet, correspondence; null = not known"),
        Column(
            "fast",
            pl.Boolean,
            "whether it was a fast game: as the source flags it, else by the speed (rapid, blitz, "
            "bullet); null = not known",
        ),
        Column("full_moves", _COUNT, "number of the last move; 0 = no moves given (forfeit?)"),
        Column("time_known", _TEXT, "how much of the date is known: day, month or year"),
        Column("weight", pl.Float64, "how much the comparison counts; null = 1"),
        Column("name_1", _TEXT, "the first player's name as written; null = as the key"),
        Column("name_2", _TEXT, "the second player's name as written; null = as the key"),
        Column("source", _TEXT, "the file the game stands in"),
        Column("line", pl.Int64, "the line or row in that file, from 1"),
    ),
)

TURNS = Table(
    "turns",
    "one decision",
    (
        Column("game_id", _TEXT, "the game's id in the games table", True),
        Column("ply", _COUNT, "half-moves played before this one, from 0", True),
        Column("move_number", _COUNT, "the number of the move as players count it"),
        Column("mover", _TEXT, "key of the player to move", True),
        Column("opponent", _TEXT, "key of the other player"),
        Column("mover_name", _TEXT, "the mover's name as written: the most frequent spelling"),
        Column("opponent_name", _TEXT, "the opponent's name as written"),
        Column("colour", _TEXT, "white or black: the mover's"),
        Column("mover_elo", _ELO, "the mover's Elo in the tags"),
        Column("opponent_elo", _ELO, "the opponent's Elo in the tags"),
        Column("position", _TEXT, "the position before the move, as FEN", True),
        Column("played", _TEXT, "the move played, in UCI notation", True),
        Column("clock_before", pl.Float64, "the mover's seconds left before thinking"),
        Column("clock_after", pl.Float64, "the mover's seconds left after the move (%clk)"),
        Column("seconds", pl.Float64, "seconds spent on the move"),
        Column("eval_cp", pl.Int32, "centipawns for the mover after the move (%eval)"),
        Column("eval_mate", pl.Int32, "mate in n for the mover after the move (%eval #n)"),
        Column("phase", _TEXT, "opening, middlegame or endgame (see docs/games.md)"),
        Column("book", pl.Boolean, "within the first moves that count as book"),
        Column("repetition", pl.Boolean, "the position stood before in this game"),
        Column("only_move", pl.Boolean, "there is one legal move"),
        Column("variant", _TEXT, "standard or chess960"),
        Column("event", _TEXT, "the event's name"),
        Column("round", _TEXT, "the round as given (3, 3.2); null = not given"),
        Column("year", _COUNT, "the year of the game"),
        Column("date", _TEXT, "the date of the game: YYYY.MM.DD, with ?? for unknown parts"),
        Column("site", _TEXT, "the place, or the address of the game on a server"),
        Column("speed", _TEXT, "classical, rapid, blitz, bullet, correspondence; null = not known"),
        Column("score", pl.Float64, "the mover's score in the game: 1, 0.5, 0; null = none"),
        Column("group", _TEXT, "composite player that the turn is pooled into (select)"),
    ),
)

PLAYERS = Table(
    "players",
    "one spelling of a player's name",
    (
        Column("key", _TEXT, "the player's key: every other table names players by it", True),
        Column("name", _TEXT, "the spelling to show: the most frequent one", True),
        Column("spelling", _TEXT, "a spelling found in the sources", True),
        Column("fide_id", pl.Int64, "the FIDE id found beside this spelling; null = none"),
        Column("games", pl.Int64, "games under this spelling and id", True),
        Column("first_year", _COUNT, "first year of those games"),
        Column("last_year", _COUNT, "last year of those games"),
        Column("joined_by", _TEXT, "why this spelling has this key: spelling, fide id or alias"),
    ),
)

LIKELY_DUPLICATES = Table(
    "likely duplicates",
    "two keys that may be one person, or one name that is two",
    (
        Column("key_1", _TEXT, "the first key", True),
        Column("key_2", _TEXT, "the second key", True),
        Column("reason", _TEXT, "what suggests it", True),
        Column("games_1", pl.Int64, "games of the first key"),
        Column("games_2", pl.Int64, "games of the second key"),
        Column("years_1", _TEXT, "years of the first key"),
        Column("years_2", _TEXT, "years of the second key"),
    ),
)

ERRORS = Table(
    "errors",
    "one thing found wrong with a game or file",
    (
        Column("kind", _TEXT, "unreadable, broken, doubt, variant or duplicate", True),
        Column("source", _TEXT, "the file", True),
        Column("line", pl.Int64, "the line in that file where the game begins, from 1"),
        Column("white", _TEXT, "White's name as far as it could be read"),
        Column("black", _TEXT, "Black's name as far as it could be read"),
        Column("event", _TEXT, "the event as far as it could be read"),
        Column("date", _TEXT, "the date as far as it could be read"),
        Column("reason", _TEXT, "what is wrong", True),
        Column("plies_kept", _COUNT, "half-moves that were kept"),
        Column("game_id", _TEXT, "the game's id if it was kept"),
    ),
)

EVALUATIONS = Table(
    "evaluations",
    "one position, analysed under one set-up of an engine",
    (
        Column("position", _TEXT, "the position as FEN, its move number set to 1", True),
        Column("played", _TEXT, "the played move, for plans that look at it; else null", True),
        Column("setup", _TEXT, "digest of the engine, its options and the plan", True),
        Column("moves", pl.List(_TEXT), "the moves, best first, the engine's order in ties", True),
        Column(
            "cp",
            pl.List(pl.List(pl.Int32)),
            "centipawns for the mover: for each depth from 1, a value for each move, null if none",
            True,
        ),
        Column(
            "mate",
            pl.List(pl.List(pl.Int16)),
            "mate in n for the mover, negative if mated: as cp; one of the two is null",
            True,
        ),
        Column("nodes", pl.Int64, "nodes searched", True),
    ),
)

OPTION = "option_"
"""Columns of spreads whose names begin so hold a list of one number an option; agents may use them
under the rest of the name."""
CONTEXT = "context_"
"""Columns of spreads whose names begin so hold one number a decision."""

SPREADS = Table(
    "spreads",
    "one decision, free of what it was about",
    (
        Column("game_id", _TEXT, "what the decision belongs to: fits resample by it", True),
        Column("ply", _COUNT, "its place there"),
        Column("group", _TEXT, "the composite decider that it is pooled into"),
        Column("mover", _TEXT, "who decided"),
        Column("mover_elo", _ELO, "the decider's rating"),
        Column("values", pl.List(pl.Float64), "worth of each option in pawns, best first", True),
        Column("chosen", _COUNT, "index of the chosen option; null = outside the options", True),
        Column(
            "depth_values",
            pl.List(pl.List(pl.Float64)),
            "for each depth from 1, the worth of each option then; null = not known",
        ),
        Column("shallow", pl.List(pl.Boolean), "whether an option was searched less deeply"),
        Column("weight", pl.Float64, "how much the decision counts; null = 1"),
        Column("premature_draw", pl.Boolean, "an option is 0 for a repetition not yet claimable"),
        Column("unlisted", _COUNT, "legal options that were not evaluated; 0 = all were"),
    ),
)

_OF_THE_TURN = (
    "move_number", "colour", "opponent", "opponent_elo", "phase", "speed", "event", "round", "year",
    "date", "site", "score", "clock_before", "seconds", "position", "played", "mover_name",
    "opponent_name",
)  # fmt: skip

DECISIONS = Table(
    "decisions",
    "one decision: its spread, and what groupings and cautions need of the turn",
    (
        *SPREADS.columns,
        *(
            replace(column, required=False)
            for column in TURNS.columns
            if column.name in _OF_THE_TURN
        ),
        Column(
            "score_doubt",
            pl.Boolean,
            "the move and its answer, or the move that it answers, both overlook more than five "
            "pawns: perhaps an error of the game score; null = not known",
        ),
    ),
)

CURVES = Table(
    "curves",
    "one player at one time",
    (
        Column("player", _TEXT, "the player's key in the results table", True),
        Column("time", None, "the period: a year, a date, or a number", True),
        Column("mean", pl.Float64, "mean of the skill, in rating points", True),
        Column("sd", pl.Float64, "standard deviation of the skill; null = the model has none"),
        Column("games", _COUNT, "the player's games in the period"),
        Column("margin_mean", pl.Float64, "mean of the player's own draw margin; null = none"),
        Column("margin_sd", pl.Float64, "standard deviation of the draw margin; null = none"),
        Column("elo", pl.Float64, "mean of the Elos printed beside the games; null = none printed"),
        Column("intrinsic_mean", pl.Float64, "the skill as intrinsic Elo; null = no move evidence"),
        Column("intrinsic_sd", pl.Float64, "its standard deviation, that of the era included"),
        Column("moves_n", pl.Int64, "turns behind the move evidence here; null = none"),
        Column("moves_site", pl.Float64, "what these moves say, Elo"),
        Column("moves_sd", pl.Float64, "its standard deviation: turns, form and player, Elo"),
    ),
)

SITES = Table(
    "sites",
    "what one player's moves in one period say about the rating: the move evidence of a history",
    (
        Column("player", _TEXT, "the player's key in the results table", True),
        Column("time", None, "the period: a year, a date, or a number", True),
        Column("reference", pl.Float64, "Elo at which score and information were taken", True),
        Column("site", pl.Float64, "reference + score / information, Elo: one step, no maximum"),
        Column("information", pl.Float64, "information of the turns about the rating, per Elo²"),
        Column("dispersion", pl.Float64, "how much more player-games vary than agents"),
        Column("n", pl.Int64, "turns"),
        Column("games", pl.Int64, "games"),
        Column("form_information", pl.Float64, "information with dispersion and form, per Elo²"),
        Column("game_information", pl.List(pl.Float64), "information of each game's turns"),
        Column("player_sd", pl.Float64, "how players of equal Elo differ, for life, Elo"),
        Column("form_sd", pl.Float64, "how one player's games differ beyond that, Elo"),
        Column("setup", _TEXT, "digest of the engine set-up behind the values"),
        Column("design", _TEXT, "how turns were chosen: whole (games), random (turns) or other"),
    ),
)

FITS = Table(
    "fits",
    "one fitted agent; before these stand the columns that the decisions were parted by",
    (
        Column("model", _TEXT, "ratio, curve, and what else the model has"),
        Column("method", _TEXT, "percentile, likelihood or moments"),
        Column("n", pl.Int64, "decisions"),
        Column("groups", pl.Int64, "groups (games): intervals are clustered by them"),
        Column("s", pl.Float64, "sensitivity, on the scale of the differences"),
        Column("c", pl.Float64, "consistency"),
        Column("se_s", pl.Float64, "standard error of s; 0 = given"),
        Column("se_c", pl.Float64, "standard error of c; 0 = given"),
        Column("cov_sc", pl.Float64, "covariance of s and c"),
        Column("s_low", pl.Float64, "lower end of the 95 % interval of s; null = given"),
        Column("s_high", pl.Float64, "upper end"),
        Column("c_low", pl.Float64, "lower end of the 95 % interval of c; null = given"),
        Column("c_high", pl.Float64, "upper end"),
        Column("lapse_low", pl.Float64, "lower end of the 95 % interval of the lapse share"),
        Column("lapse_high", pl.Float64, "upper end"),
        Column("lapse", pl.Float64, "lapse share"),
        Column("mm_projected", pl.Float64, "projected share of choices of the first-listed best"),
        Column("mm_actual", pl.Float64, "actual share"),
        Column(
            "z_mm",
            pl.Float64,
            "actual less projected, in sd of the model; smaller where fitted to these",
        ),
        Column("ad_projected", pl.Float64, "projected mean scaled difference"),
        Column("ad_actual", pl.Float64, "actual mean scaled difference"),
        Column(
            "z_ad",
            pl.Float64,
            "projected less actual, in sd of the model; smaller where fitted to these",
        ),
        Column("qfit", pl.Float64, "10,000 x mean squared error of the frequencies, i = 0..49"),
        Column("percentile_rms", pl.Float64, "root mean square of R_q - q over the grid"),
        Column("percentile_chi_square", pl.Float64, "chi-square of these under the model"),
        Column("percentile_degrees", pl.Int64, "its degrees of freedom"),
        Column("log_likelihood", pl.Float64, "log-likelihood of the choices"),
        Column("entropy", pl.Float64, "mean entropy of the choices, in nats"),
        Column("outside", pl.Int64, "choices outside the listed options, kept as such"),
        Column("excluded", pl.Int64, "choices outside the listed options, left out"),
        Column("covariance", _TEXT, "where the errors come from: sandwich, information, bootstrap"),
        Column("converged", pl.Boolean, "whether the search came to rest"),
        Column("other_parameters", _TEXT, "depth weights and others, as name=value"),
        Column("difference", _TEXT, "how differences were taken: log, raw or win-probability"),
        Column("constant", pl.Float64, "C of the log scale; null = no log scale"),
        Column("constant_low", pl.Float64, "lower end of its 95 % interval; null = not fitted"),
        Column("constant_high", pl.Float64, "upper end"),
        Column("options", pl.Int64, "options of all decisions"),
        Column("clipped", pl.Int64, "options that the cap moved closer to the best"),
    ),
)

RATINGS = Table(
    "ratings",
    "one rated group of turns; before these stand the columns that the turns were gathered by, the "
    "key of a player with the name as written behind it (player and name, opponent and "
    "opponent_name)",
    (
        Column("rating", pl.Float64, "intrinsic performance rating, Elo; null = no bound"),
        Column("low", pl.Float64, "how well the games were played, lower end; null = no bound"),
        Column("high", pl.Float64, "the same, upper end; null = no bound"),
        Column("player_low", pl.Float64, "how strong the player is, lower end; null = no bound"),
        Column("player_high", pl.Float64, "the same, upper end; null = no bound"),
        Column("se", pl.Float64, "standard error of the performance: turns and calibration"),
        Column("se_player", pl.Float64, "of the player's strength: all parts that follow"),
        Column("se_turns", pl.Float64, "of the turns, with the dispersion of player-games"),
        Column("se_calibration", pl.Float64, "of the calibration"),
        Column("se_games", pl.Float64, "of form, beyond the dispersion of player-games"),
        Column("se_players", pl.Float64, "of the variation between players of equal Elo"),
        Column("se_events", pl.Float64, "of the variation between events"),
        Column("n", pl.Int64, "turns"),
        Column("games", pl.Int64, "games"),
        Column("elo", pl.Float64, "mean of the players' own Elo; null = not known of all turns"),
        Column("mm_actual", pl.Float64, "share of turns in which the first-listed best was played"),
        Column("mm_projected", pl.Float64, "the same for agents of the players' own Elo"),
        Column("z_mm", pl.Float64, "actual less projected, in sd of the agents"),
        Column(
            "z_mm_adjusted",
            pl.Float64,
            "corrected for how games, players and events vary, on these turns",
        ),
        Column("z_mm_published", pl.Float64, "divided by the published 1.15"),
        Column("ad_actual", pl.Float64, "mean scaled difference to the best move"),
        Column("ad_projected", pl.Float64, "the same for agents of the players' own Elo"),
        Column("z_ad", pl.Float64, "projected less actual, in sd of the agents"),
        Column(
            "z_ad_adjusted",
            pl.Float64,
            "corrected for how games, players and events vary, on these turns",
        ),
        Column("z_ad_published", pl.Float64, "divided by the published 1.4"),
        Column("competence", pl.Float64, "apparent competence c of the 2009 agents"),
        Column("competence_sd", pl.Float64, "its posterior standard deviation"),
        Column("competence_low", pl.Float64, "lower end of its 95 % region"),
        Column("competence_high", pl.Float64, "upper end"),
        Column("warnings", _TEXT, "what to know before using the row; empty = nothing"),
    ),
)

CHECKS = Table(
    "checks",
    "one performance: a player in an event, beside honest players of the same rating",
    (
        Column("player", _TEXT, "the player's key, or Player 07 where names are kept back", True),
        Column("seed", pl.Int64, "place by rating, from 1; null = no rating"),
        Column("elo", pl.Float64, "rating from before the event; null = none, and no test"),
        Column("elo_from", _TEXT, "where it came from: in the game, given, table"),
        Column("turns", pl.Int64, "evaluated turns that count"),
        Column("games", pl.Int64, "games they come from"),
        Column("rating", pl.Float64, "intrinsic performance rating, Elo; null = no bound"),
        Column("low", pl.Float64, "how well the games were played, lower end"),
        Column("high", pl.Float64, "the same, upper end"),
        Column("player_low", pl.Float64, "how strong the player is, lower end"),
        Column("player_high", pl.Float64, "the same, upper end"),
        Column("index", pl.Float64, "50 + 5 z: mean 50, sd 5 among honest players; null = none"),
        Column("p", pl.Float64, "how often an honest player does as well: the larger of two"),
        Column("p_model", pl.Float64, "of them, that of the normal law"),
        Column("p_reference", pl.Float64, "that among measured honest performances; null = none"),
        Column("e_value", pl.Float64, "evidence ratio E; for honest players its mean is 1 at most"),
        Column("ln_e", pl.Float64, "its logarithm"),
        Column("e_worst", pl.Float64, "worst-case ratio: holds for a player of any strength"),
        Column("z", pl.Float64, "the one standard score of match, error and likelihood"),
        Column("z_match_raw", pl.Float64, "z of the match rate, as if players were agents"),
        Column("z_error_raw", pl.Float64, "z of the error, as if players were agents"),
        Column("z_likelihood_raw", pl.Float64, "z of the likelihood, as if players were agents"),
        Column("z_match", pl.Float64, "z of the match rate among honest players"),
        Column("z_error", pl.Float64, "z of the error among honest players"),
        Column("z_likelihood", pl.Float64, "z of the likelihood among honest players"),
        Column(
            "noticed",
            pl.Float64,
            "how often help with one turn in five would be noticed, at one false alarm in 100",
        ),
        Column("mirror_z", pl.Float64, "opponents' play against this player; low = below theirs"),
        Column("mirror_p", pl.Float64, "how often honest opponents play as low"),
        Column("reason", _TEXT, "why there is no index; empty = there is one"),
        Column("warnings", _TEXT, "what to know before using the row; empty = nothing"),
    ),
)

REVIEW_POOLS = Table(
    "review pools",
    "one pool of a reviewed player's games: ratings of pools are never taken together",
    (
        Column(
            "pool", _TEXT, "whose ratings the tags hold: over the board, lichess blitz ...", True
        ),
        Column("games", pl.Int64, "games"),
        Column("turns", pl.Int64, "turns that are rated"),
        Column("decided", pl.Int64, "turns in decided positions: not rated"),
        Column("missing", pl.Int64, "turns that are not analysed"),
        Column("score", pl.Float64, "the player's score; null = no results"),
        Column("own_rating", pl.Float64, "mean of the player's rating in the tags"),
        Column("rating", pl.Float64, "intrinsic performance rating, Elo; null = none"),
        Column("low", pl.Float64, "how well the games were played, lower end"),
        Column("high", pl.Float64, "the same, upper end"),
        Column("player_low", pl.Float64, "how strong the player is, lower end"),
        Column("player_high", pl.Float64, "the same, upper end"),
        Column("se", pl.Float64, "standard error of the performance"),
        Column("se_player", pl.Float64, "standard error of the player's strength"),
        Column("shift", pl.Float64, "what moves of the pool read above its ratings; null = Elo"),
        Column("shift_se", pl.Float64, "its standard error"),
        Column("pool_rating", pl.Float64, "the rating on the pool's own scale; null = not known"),
        Column("pool_low", pl.Float64, "the same, lower end"),
        Column("pool_high", pl.Float64, "the same, upper end"),
        Column("level_from", _TEXT, "what equals are told by"),
        Column("warnings", _TEXT, "what to know before using the row; empty = nothing"),
    ),
)

REVIEW_GROUPS = Table(
    "review groups",
    "one group of a reviewed player's turns beside equals: a phase, a kind of opponents",
    (
        Column("group", _TEXT, "which", True),
        Column("turns", pl.Int64, "turns that are rated"),
        Column("decided", pl.Int64, "turns in decided positions: not rated"),
        Column("games", pl.Int64, "games"),
        Column("rating", pl.Float64, "rating with the phase's baseline; null = none, see the note"),
        Column("low", pl.Float64, "lower end"),
        Column("high", pl.Float64, "upper end"),
        Column("level", pl.Float64, "Elo of equals, mean over the turns"),
        Column("gap", pl.Float64, "how far above equals they were played, in Elo"),
        Column("gap_low", pl.Float64, "lower end; it has the error of where equals stand too"),
        Column("gap_high", pl.Float64, "upper end"),
        Column("match", pl.Float64, "share of turns in which the first-listed best was played"),
        Column("match_expected", pl.Float64, "the same for equals"),
        Column("points_lost", pl.Float64, "points of the game lost a turn"),
        Column("points_expected", pl.Float64, "the same for equals"),
        Column("points_z", pl.Float64, "expected less lost, in standard deviations"),
        Column("points_p", pl.Float64, "how often equals lie as far off, either way"),
        Column("note", _TEXT, "why something is missing; empty = nothing is"),
    ),
)

REVIEW_TURNS = Table(
    "review turns",
    "one turn beside what players of equal strength do there",
    (
        Column("game_id", _TEXT, "the game", True),
        Column("ply", _COUNT, "half-moves played before this one, from 0"),
        Column("move_number", _COUNT, "the number of the move as players count it"),
        Column("mover", _TEXT, "key of the player to move"),
        Column("opponent", _TEXT, "key of the other player"),
        Column("opponent_name", _TEXT, "the opponent's name as written"),
        Column("colour", _TEXT, "white or black: the mover's"),
        Column("date", _TEXT, "the date of the game"),
        Column("pool", _TEXT, "whose ratings the tags hold"),
        Column("phase", _TEXT, "opening, middlegame or endgame"),
        Column("position", _TEXT, "the position before the move, as FEN"),
        Column("played", _TEXT, "the move played, in UCI notation"),
        Column("san", _TEXT, "the move played, in SAN"),
        Column("best", _TEXT, "the engine's move, in UCI notation; null = not named"),
        Column("best_san", _TEXT, "the engine's move, in SAN; empty = not named"),
        Column("value", pl.Float64, "worth of the position for the mover, in pawns"),
        Column("value_after", pl.Float64, "worth of the move played"),
        Column("loss", pl.Float64, "what the move gave away, in pawns"),
        Column("expected_loss", pl.Float64, "what equals give away on average"),
        Column("points_lost", pl.Float64, "what the move lost, in points of the game"),
        Column("points_expected", pl.Float64, "what equals lose on average"),
        Column("points_sd", pl.Float64, "its standard deviation among equals"),
        Column("cost", pl.Float64, "points lost less those that equals lose"),
        Column("chance", pl.Float64, "how often equals play the move that was played"),
        Column("best_chance", pl.Float64, "how often equals find the engine's move"),
        Column("better_chance", pl.Float64, "how often equals lose less than half as much"),
        Column("entropy", pl.Float64, "how open the choice is to equals, in nats"),
        Column("agent_elo", pl.Float64, "Elo of the agents that stand for equals; null = none"),
        Column("decided", pl.Boolean, "the position is decided: over three pawns for one side"),
        Column("options", pl.Int64, "legal moves"),
        Column("clock_before", pl.Float64, "the mover's seconds left before thinking"),
        Column("seconds", pl.Float64, "seconds spent on the move"),
        Column("link", _TEXT, "address of the position; null = none"),
    ),
)

REVIEW_COSTLY = Table(
    "review costly",
    "one of the turns that cost most, as far as it goes by a second, deeper look",
    (
        *REVIEW_TURNS.columns,
        Column("first_lost", pl.Float64, "what the first look saw lost, in points of the game"),
        Column("looked_depth", pl.Int64, "depth of the second look; null = there was none"),
    ),
)

REVIEW_GAMES = Table(
    "review games",
    "one game of a reviewed player: how each side played beside its Elo",
    (
        Column("game_id", _TEXT, "the game", True),
        Column("date", _TEXT, "its date"),
        Column("pool", _TEXT, "whose ratings the tags hold"),
        Column("opponent", _TEXT, "key of the opponent"),
        Column("opponent_name", _TEXT, "the opponent's name as written"),
        Column("colour", _TEXT, "the player's colour"),
        Column("score", pl.Float64, "the player's score: 1, 0.5, 0; null = none"),
        Column("expected", pl.Float64, "the score that the ratings promise"),
        Column("own_elo", pl.Float64, "the player's rating in the tags"),
        Column("opponent_elo", pl.Float64, "the opponent's rating in the tags"),
        Column("turns", pl.Int64, "analysed turns of the player"),
        Column("opponent_turns", pl.Int64, "analysed turns of the opponent; null = none"),
        Column("own_play", pl.Float64, "own play beside the own Elo, drawn to 0 by its error"),
        Column("own_play_se", pl.Float64, "its standard error"),
        Column("own_points", pl.Float64, "what it is worth, in points of score"),
        Column("own_points_se", pl.Float64, "its standard error"),
        Column("opponent_play", pl.Float64, "the opponent's play beside the opponent's Elo"),
        Column("opponent_play_se", pl.Float64, "its standard error"),
        Column("opponent_points", pl.Float64, "what it is worth to the player, in points"),
        Column("opponent_points_se", pl.Float64, "its standard error"),
        Column("points_lost", pl.Float64, "points that the player's moves gave away"),
        Column("points_expected", pl.Float64, "points that equals would have given away"),
        Column("cost", pl.Float64, "the difference"),
        Column("words", _TEXT, "how the game was won or lost, as far as the moves say"),
        Column("link", _TEXT, "address of the game; null = none"),
    ),
)

REVIEW_TRAPS = Table(
    "review traps",
    "one turn with a move that looks best at low depth and is refuted deeper",
    (
        Column("game_id", _TEXT, "the game", True),
        Column("ply", _COUNT, "half-moves played before this one, from 0"),
        Column("move_number", _COUNT, "the number of the move as players count it"),
        Column("colour", _TEXT, "the mover's colour"),
        Column("opponent_name", _TEXT, "the opponent's name as written"),
        Column("date", _TEXT, "the date of the game"),
        Column("phase", _TEXT, "opening, middlegame or endgame"),
        Column("position", _TEXT, "the position before the move, as FEN"),
        Column("trap", _TEXT, "the move that looks best at low depth, in SAN"),
        Column("san", _TEXT, "the move played"),
        Column("best_san", _TEXT, "the engine's move at full depth"),
        Column("fell", pl.Boolean, "whether the trap move was played"),
        Column("trap_chance", pl.Float64, "how often equals play it"),
        Column("trap_points", pl.Float64, "what it loses, in points of the game"),
        Column("link", _TEXT, "address of the position; null = none"),
    ),
)

TABLES = (
    GAMES, RESULTS, TURNS, EVALUATIONS, SPREADS, DECISIONS, FITS, RATINGS, CHECKS,
    REVIEW_POOLS, REVIEW_GROUPS, REVIEW_TURNS, REVIEW_COSTLY, REVIEW_GAMES, REVIEW_TRAPS, PLAYERS,
    LIKELY_DUPLICATES, ERRORS, CURVES, SITES,
)  # fmt: skip
