"""One row of a results file for one file of games: s and c with what belongs beside them.

The fit is the paper's: percentiles, scaled differences, no book, no turns beyond three pawns (Regan
& Haworth 2011). The file is a CSV that grows row by row, whichever process writes to it, and is
never seen half written; a `.provenance.json` beside it says which engine and options made each row,
by a key that follows from the row itself: two rows of one file of games keep a record each.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from milepost import __version__
from milepost.choice.spreads import Spreads
from milepost.errors import InputError
from milepost.fit.agent import NotConvergedWarning, fit_agent
from milepost.fit.result import FitResult
from milepost.io.files import write_text
from milepost.io.locks import locked
from milepost.io.outputs import refuse_stream

COLUMNS = (
    "filename", "Games", "Moves", "AvgElo", "MinElo", "MaxElo", "s", "c", "AE_e", "AE_a",
    "Match_e", "Match_a", "Qfit", "PercentileRMS", "FirstYear", "LastYear",
)  # fmt: skip
"""Games and moves that were fitted; Elo over the players of the games, each once a game; expected
and actual error in scaled pawns, match rate in per cent."""
LEAST_MOVES = 30
"""With fewer moves there is no row."""
WIDE_ELO = 100
"""A wider range of Elo in one row comes with a warning: s and c are then of nobody."""
APPENDED, REPLACED, THERE_ALREADY = "appended", "replaced", "there already"


@dataclass(frozen=True, eq=False)
class FitRow:
    """A row, and the fit behind it."""

    filename: str
    """The file of games, as it was named."""
    fit: FitResult
    """The fit."""
    elos: tuple[float, int, int] | None
    """Mean, least and greatest Elo; None = not known."""
    years: tuple[int, int] | None
    """First and last year; None = not known."""
    warnings: tuple[str, ...] = ()
    """What to know before using it."""

    @property
    def cells(self) -> tuple[str, ...]:
        """The texts of the row, in the order of `COLUMNS`."""
        fit, elos, years = self.fit, self.elos, self.years
        return (
            self.filename,
            str(fit.n_groups),
            str(fit.n),
            *((f"{elos[0]:.1f}", str(elos[1]), str(elos[2])) if elos else ("", "", "")),
            *(f"{value:.6g}" for value in (fit.s, fit.c, fit.ad_projected, fit.ad_actual)),
            *(f"{100 * value:.3f}" for value in (fit.mm_projected, fit.mm_actual)),
            *(f"{value:.6g}" for value in (fit.qfit, fit.percentiles.rms)),
            *(map(str, years) if years else ("", "")),
        )

    def to_dict(self) -> dict[str, str]:
        """Return the texts of the row by column."""
        return dict(zip(COLUMNS, self.cells, strict=True))


def fit_row(filename: str, decisions: pl.DataFrame, turns: pl.DataFrame) -> FitRow:
    """Fit s and c to the decisions of one file of games.

    Parameters
    ----------
    filename
        What to call it.
    decisions
        The spreads table of the file.
    turns
        Its turns table: the years stand there.

    Raises
    ------
    InputError
        If there are fewer than `LEAST_MOVES` moves, or the fit does not come to rest.
    """
    refuse_few(filename, len(decisions))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)  # told below, as an error
        fit = fit_agent(Spreads.from_table(decisions))
    if not fit.converged:
        raise InputError(f"{filename}: the fit did not converge ({fit.message}): no row")
    players = decisions.select("game_id", "mover", "mover_elo").unique(maintain_order=True)
    known = players["mover_elo"].drop_nulls().to_list()
    elos = (sum(known) / len(known), min(known), max(known)) if known else None
    games = turns.join(decisions.select("game_id").unique(), on="game_id", how="semi")
    dated = games["year"].drop_nulls().to_list()
    told = []
    if elos is not None and elos[2] - elos[1] > WIDE_ELO:
        told.append(
            f"Elo from {elos[1]} to {elos[2]}: over {WIDE_ELO} points; s and c are those of a "
            "mixture, not of players of the mean Elo"
        )
    if len(known) < len(players):
        told.append(f"no Elo for {len(players) - len(known)} of {len(players)} players of games")
    if fit.projection.outside:
        told.append(f"{fit.projection.outside} moves were chosen outside the evaluated ones")
    years = (min(dated), max(dated)) if dated else None
    return FitRow(filename, fit, elos, years, tuple(told))


def refuse_few(filename: str, moves: int) -> None:
    """Refuse a file that has, or will have at best, too few moves for a fit.

    Raises
    ------
    InputError
        If it has.
    """
    if moves < LEAST_MOVES:
        raise InputError(f"{filename}: {moves} moves to fit to, {LEAST_MOVES} are the least")


def read_rows(path: str | Path) -> list[tuple[str, ...]]:
    """Return the rows of a results file, without the header; none if there is no file.

    Raises
    ------
    InputError
        If it has another header, or a row with too many or too few cells.
    """
    return _parse(Path(path), _read_text(Path(path)))


def other_setups(path: str | Path, digest: str) -> list[str]:
    """Return the rows' files that were made with another engine set-up, as far as it is known."""
    records = _read_made(_made_path(Path(path)))
    others = {_filename(key, each) for key, each in records.items() if each.get("digest") != digest}
    return sorted(others)


def row_key(cells: Sequence[str]) -> str:
    """Return the key under which the provenance of a row is kept."""
    return hashlib.sha256(_csv_text([cells]).encode()).hexdigest()[:16]


def append_row(
    path: str | Path, row: FitRow, *, made: Mapping[str, Any], replace: bool = False
) -> str:
    """Add a row to a results file; the file is made, with its header, if there is none.

    Processes that do this at the same time wait for each other. The same row is never there twice.

    Parameters
    ----------
    path
        The file.
    row
        The row.
    made
        What made the row: set-up, its digest, options, inputs.
    replace
        Whether earlier rows of the same file of games go.

    Returns
    -------
    str
        `APPENDED`, `REPLACED` or `THERE_ALREADY`.

    Raises
    ------
    InputError
        If the file has another header or a broken row; nothing is written then.
    OutputError
        If it cannot be written.
    """
    target = Path(path)
    with locked(target):
        text = _read_text(target)
        rows = _parse(target, text)
        same_name = [each for each in rows if each[0] == row.filename]
        if row.cells in same_name and (not replace or len(same_name) == 1):
            return THERE_ALREADY
        kept = rows
        if replace and same_name:
            kept = [each for each in rows if each[0] != row.filename]
            write_text(target, _csv_text([COLUMNS, *kept, row.cells]))
        else:
            # What stands there stays as it is, byte for byte, but for a missing end of line.
            line_end = "" if not text or text.endswith("\n") else "\n"
            fresh = [row.cells] if text.strip() else [COLUMNS, row.cells]
            write_text(target, text + line_end + _csv_text(fresh))
        _write_made(target, kept, row, made)
    return REPLACED if replace and same_name else APPENDED


def _csv_text(rows: Sequence[Sequence[str]]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue()


def _read_text(path: Path) -> str:
    refuse_stream(path, "a row is added to those in the file")
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {error}") from error


def _parse(path: Path, text: str) -> list[tuple[str, ...]]:
    if not text.strip():
        return []
    try:
        # Spreadsheets put a mark before the first cell.
        lines = list(csv.reader(io.StringIO(text.removeprefix("\ufeff")), strict=True))
    except csv.Error as error:
        raise InputError(f"{path} is no CSV file: {error}") from error
    if tuple(lines[0]) != COLUMNS:
        raise InputError(
            f"{path} has another header: expected {','.join(COLUMNS)}, found {','.join(lines[0])}; "
            "nothing is appended to it"
        )
    rows = [tuple(line) for line in lines[1:] if line]
    wrong = next((each for each in rows if len(each) != len(COLUMNS)), None)
    if wrong is not None:
        raise InputError(f"{path}: the row of {wrong[0]!r} has {len(wrong)} cells, not 16")
    return rows


def _made_path(path: Path) -> Path:
    return path.with_name(path.name + ".provenance.json")


def _read_made(path: Path) -> dict[str, Any]:
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}  # not there, or not ours: the rows do not depend on it
    rows = known.get("rows") if isinstance(known, dict) else None
    if not isinstance(rows, dict) or not all(isinstance(each, dict) for each in rows.values()):
        return {}
    return rows


def _filename(key: str, record: Mapping[str, Any]) -> str:
    # Earlier versions kept one record a file of games, under its name.
    return str(record.get("filename", key))


def _write_made(
    path: Path, kept: Sequence[Sequence[str]], row: FitRow, made: Mapping[str, Any]
) -> None:
    """Keep the records of the rows that are there, and that of the new one."""
    keys = {row_key(cells) for cells in kept}
    names = {cells[0] for cells in kept}
    records = {
        key: record
        for key, record in _read_made(_made_path(path)).items()
        if (key in keys if "filename" in record else key in names)
    }
    records[row_key(row.cells)] = {"filename": row.filename, **made}
    known = {"made_by": f"milepost {__version__}", "command": "fit-row", "rows": records}
    text = json.dumps(known, indent=1, sort_keys=True, ensure_ascii=False, default=str)
    write_text(_made_path(path), text + "\n")
