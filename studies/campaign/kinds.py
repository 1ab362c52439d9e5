"""The kinds of input: how one is made and damaged, read, and what must hold afterwards.

A reader may refuse an input with an error of ours and nothing else. What it reads must account for
all that is there: rows read + rows reported = rows present; a damaged game harms itself and at most
the one behind it.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import json
import random
import warnings
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from studies.campaign.mutate import damaged_bytes, damaged_rows, damaged_tree

from milepost.errors import MilepostError, MilepostWarning

DATA = Path(str(files("milepost") / "data"))


class LostError(Exception):
    """Something that was there is neither read nor reported."""


class Kind(NamedTuple):
    """A kind of input."""

    name: str
    make: Callable[[random.Random, Path], Any]
    """Writes a damaged input into a folder; returns what `read` has to know."""
    read: Callable[[Any], None]
    """Reads it; raises errors of ours, or `LostError`."""
    batch: int = 250
    """So many are tried by one process: a minute's work or so."""
    read_group: Callable[[list[Any]], None] | None = None
    """Reads several at once, where that costs little more than one; any error fails the group."""


class Games(NamedTuple):
    """A file of games, one of them damaged."""

    path: Path
    games: bytes
    """What the file holds, before it was compressed."""
    names: list[str]
    """Who plays White, game by game."""
    hurt: int
    """The number of the damaged game."""


MOVES = (
    "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Be7 6. Re1 b5 7. Bb3 d6 8. c3 O-O 9. h3 Nb8"
)


def clean_game(number: int, chance: random.Random, end: str, series: int) -> bytes:
    """Return a game with names that nobody else has, and two to eighteen plies."""
    words = MOVES.split(" ")[: chance.randrange(2, 27)]
    words = words if words[-1][0] not in "123456789" else words[:-1]
    if chance.random() < 0.4:
        words.insert(
            2, chance.choice(("{a comment}", "(1. d4 (1. c4) d5)", "$1", "; to the end" + end))
        )
    result = chance.choice(("1-0", "0-1", "1/2-1/2", "*"))
    tags = {
        "Event": f"Cup {number}", "Site": "?", "Date": f"20{number % 20:02d}.05.06", "Round": "1",
        "White": _white(series, number), "Black": f"Bläck{series}{number:03d}, B",
        "Result": result,
        "WhiteElo": str(1500 + number),
    }  # fmt: skip
    head = end.join(f'[{name} "{value}"]' for name, value in tags.items())
    text = f"{head}{end}{end}{' '.join([*words, result])}{end}{end}"
    return text.encode(chance.choice(("utf-8", "latin-1")))


def _white(series: int, number: int) -> str:
    return f"White{series}{number:03d}, A"


def make_pgn(chance: random.Random, folder: Path) -> Games:
    """Six games, one of them damaged; in all line ends, encodings and compressions."""
    ends = chance.choice(("\n", "\r\n", "\r", "mixed"))
    series = chance.randrange(1_000_000)  # files that are read together have different games
    games = [
        clean_game(
            number, chance, chance.choice(("\n", "\r\n", "\r")) if ends == "mixed" else ends, series
        )
        for number in range(6)
    ]
    hurt = chance.randrange(6)
    games[hurt] = damaged_bytes(games[hurt], chance)
    data = (b"\xef\xbb\xbf" if chance.random() < 0.1 else b"") + b"".join(games)
    ending, data = packed(data, chance)
    path = folder / f"games.pgn{ending}"
    path.write_bytes(data)
    return Games(path, b"".join(games), [_white(series, number) for number in range(6)], hurt)


def packed(data: bytes, chance: random.Random, ways: int = 8) -> tuple[str, bytes]:
    """Compress by one of three ways; by what is more than three, not."""
    import zstandard

    way = chance.randrange(ways)
    if way == 0:
        return ".gz", gzip.compress(data, mtime=0)
    if way == 1:
        return ".bz2", bz2.compress(data)
    if way == 2:
        return ".zst", zstandard.ZstdCompressor().compress(data)
    return "", data


def read_pgn(given: Games) -> None:
    """Both readers; games far from the damaged one must be whole, its neighbours at least told."""
    _read_damaged(given.path, given.names, {given.hurt})


def read_pgns(group: list[Games]) -> None:
    """Read the games of several files as one file: every sixth game or so is damaged then."""
    ending, data = packed(
        b"".join(given.games for given in group), random.Random(group[0].names[0])
    )
    path = group[0].path.with_name(f"all.pgn{ending}")
    path.write_bytes(data)
    names = [name for given in group for name in given.names]
    _read_damaged(path, names, {6 * place + given.hurt for place, given in enumerate(group)})


def _read_damaged(path: Path, names: list[str], hurt: set[int]) -> None:
    """Games are read by machine code, which small files are not otherwise, and without it."""
    from milepost.games.load import read_games, read_results
    from milepost.games.pgn import readers

    usual, readers.WORTH_IT = readers.WORTH_IT, 0
    try:
        compiled = read_games([path], keep_duplicates=True)
    finally:
        readers.WORTH_IT = usual
    games, errors = read_games([path], keep_duplicates=True)
    if not (games.equals(compiled[0]) and errors.equals(compiled[1])):
        raise LostError(f"the compiled reader sees {path.name} in another way")
    whole = set(games.filter(~pl.col("broken"))["white"])
    told = {*games["white"], *errors["white"].drop_nulls()}
    near = {number + step for number in hurt for step in (-1, 1)}
    lost = {
        number
        for number, name in enumerate(names)
        if number not in hurt and name not in (told if number in near else whole)
    }
    # The one behind it may be a comment's or a tag's text by now: then the damaged game is told.
    if len(errors) >= len(lost):
        lost -= {number + 1 for number in hurt}
    if lost:
        gone = [names[number] for number in sorted(lost)]
        raise LostError(f"{gone} of {path.name}; errors: {errors['reason'].to_list()}")
    read_results([path])


def make_packed(chance: random.Random, folder: Path) -> Games:
    """Games whose compressed bytes are damaged."""
    games = make_pgn(chance, folder)
    ending, data = packed(games.games, chance, ways=3)
    path = folder / f"packed.pgn{ending}"
    path.write_bytes(damaged_bytes(data, chance))
    return games._replace(path=path)


def read_packed(given: Games) -> None:
    """Read one alone."""
    read_packed_files([given])


def read_packed_files(group: list[Games]) -> None:
    """Games that are no longer there are told; no file keeps others from being read.

    One game was damaged before: little may be left of it, so five are promised.
    """
    from milepost.games.load import read_games, read_results

    paths = [given.path for given in group]
    games, errors = read_games(paths, keep_duplicates=True)
    for path in paths:
        here = pl.col("source") == str(path)
        read, told = len(games.filter(here)), len(errors.filter(here))
        if read < 5 and not told:
            raise LostError(f"{read} of 5 games of {path.name}, and nothing told")
    read_results(paths)


def make_results(chance: random.Random, folder: Path) -> Path:
    """A results table as CSV, NDJSON or Parquet, its cells or its bytes damaged."""
    rows = [
        {"time": 2000 + n % 5, "player_1": f"P{n % 7}", "player_2": f"Q{n % 5}",
         "score": (1, 0.5, 0)[n % 3], "weight": 1.0, "event": f"E{n % 2}"}
        for n in range(20)
    ]  # fmt: skip
    if chance.random() < 0.2:
        rows = [{**{k: v for k, v in row.items() if k != "score"}, "wins": 1, "draws": 2,
                 "losses": n} for n, row in enumerate(rows[:4])]  # fmt: skip
    return write_rows(rows, chance, folder)


def write_rows(rows: list[dict[str, Any]], chance: random.Random, folder: Path) -> Path:
    """Write rows in one of three forms, structure or bytes damaged."""
    structured = chance.random() < 0.6
    if structured:
        rows = damaged_rows(rows, chance)
    form = chance.choice(("csv", "csv", "ndjson", "parquet"))
    path = folder / f"table.{form}"
    with contextlib.suppress(pl.exceptions.PolarsError):
        frame = pl.DataFrame(rows, strict=False, infer_schema_length=None)
        if form == "csv":
            flat = frame.with_columns(
                pl.col(name).map_elements(
                    lambda v: json.dumps(v.to_list(), default=str), return_dtype=pl.String
                )
                for name, dtype in frame.schema.items()
                if dtype.is_nested()
            )
            flat.write_csv(path, separator=";" if chance.random() < 0.05 else ",")
        elif form == "parquet":
            frame.write_parquet(path)
    if form == "ndjson" or not path.exists():
        path = folder / "table.ndjson"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    if not structured:
        path.write_bytes(damaged_bytes(path.read_bytes(), chance))
    if form == "csv" and chance.random() < 0.1:
        path.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    return path


def read_results_table(path: Path) -> None:
    """Rows read and rows reported are the rows of the table; now and then a history of them."""
    from milepost.games.load import read_results
    from milepost.history import Elo, fit_history
    from milepost.io.files import read_table

    table = read_table(path)
    results, errors = read_results(path)
    if "wins" not in table.columns and len(results) + len(errors) != len(table):
        raise LostError(f"{len(results)} read + {len(errors)} reported of {len(table)} rows")
    if path.stat().st_size % 3 == 0:  # a third of them: a history costs as much as reading
        fit_history(results, Elo())


def make_spreads(chance: random.Random, folder: Path) -> Path:
    """A spreads table, damaged."""
    rows = [
        {"game_id": f"g{n % 3}", "ply": n, "mover": "m", "mover_elo": 2000,
         "values": [0.5, 0.1, -1.0], "chosen": n % 3, "weight": 1.0,
         "depth_values": [[0.1, 0.2, -1.0]] * 10, "unlisted": 0}
        for n in range(8)
    ]  # fmt: skip
    return write_rows(rows, chance, folder)


def read_spreads(path: Path) -> None:
    """Read them as `rate` does."""
    from milepost.api.decisions import decisions
    from milepost.choice import Spreads

    Spreads.from_table(decisions(path).table)


def make_calibration(chance: random.Random, folder: Path) -> Path:
    """A calibration with a branch changed, or with damaged bytes."""
    path = folder / "mine.json"
    text = chance.choice(sorted((DATA / "calibrations").glob("*.json"))).read_bytes()
    if chance.random() < 0.7:
        text = json.dumps(damaged_tree(json.loads(text), chance)).encode()
    else:
        text = damaged_bytes(text, chance)
    path.write_bytes(text)
    return path


def read_calibration(path: Path) -> None:
    """Read it."""
    from milepost.intrinsic.calibration.calibration import load_calibration

    load_calibration(path)


def make_store(chance: random.Random, folder: Path) -> Path:
    """A small store with one of its files damaged."""
    from milepost.analysis.store.store import EvaluationStore

    store = EvaluationStore(folder / "store", create=True)
    setup = chance.choice(sorted((DATA / "sample" / "evaluations" / "setups").glob("*.json")))
    (store.setups / setup.name).write_bytes(setup.read_bytes())
    for first in (0, 3):
        store.append(
            [{"position": f"8/8/8/8/8/8/k1K5/8 w - - {first + n} 1", "played": None,
              "setup": setup.stem, "moves": ["c2c3"], "cp": [[n]], "mate": [[None]], "nodes": 1}
             for n in range(3)]
        )  # fmt: skip
    path = chance.choice(sorted(p for p in store.folder.rglob("*") if p.is_file()))
    path.write_bytes(damaged_bytes(path.read_bytes(), chance))
    return store.folder


def read_store(folder: Path) -> None:
    """Damaged files are refused or found by `verify`; rows that are read are as they were."""
    from milepost.analysis.store.store import EvaluationStore

    store = EvaluationStore(folder)
    problems = store.verify()
    rows = store.read()
    store.known_setups()
    wrong = rows.filter(pl.col("moves").list.first() != "c2c3")
    if len(wrong) or (not problems and len(rows) != 6):
        raise LostError(f"{len(rows)} of 6 rows, {len(problems)} problems told")


def make_uci(chance: random.Random, folder: Path) -> bytes:
    """What an engine prints, damaged."""
    lines = [
        f"info depth {depth} seldepth {depth} multipv {rank} score {score} nodes 9 nps 9 pv {move}"
        for depth in range(1, 5)
        for rank, (score, move) in enumerate(
            (("cp 20", "e2e4"), ("mate 3", "d2d4"), ("cp -7 upperbound", "g1f3")), start=1
        )
    ]
    text = "\n".join([*lines, "bestmove e2e4 ponder e7e5", ""]).encode()
    return damaged_bytes(text, chance)


def read_uci(data: bytes) -> None:
    """Take it apart; values are whole numbers of a size that the store holds."""
    from milepost.analysis.engine.search_output import parse_search
    from milepost.analysis.engine.uci import parse_option

    log = parse_search(data)
    for value in log.values.values():
        if value.cp is not None and abs(value.cp) >= 2**31:
            raise LostError(f"a value of {value.cp} centipawns would not fit the store")
    for line in io.BytesIO(data):
        parse_option(line.decode("utf-8", "replace"))


def make_upload(chance: random.Random, folder: Path) -> tuple[Path, str]:
    """A damaged PGN file or results table, now and then under the name of the other."""
    path = make_pgn(chance, folder).path if chance.random() < 0.6 else None
    if path is None:
        path = folder / chance.choice(("results.csv", "results.parquet"))
        rows = pl.DataFrame({
            "time": [2000 + n for n in range(8)], "player_1": [f"A{n}" for n in range(8)],
            "player_2": [f"B{n % 3}" for n in range(8)], "score": [1.0, 0.5, 0.0, 1.0] * 2,
        })  # fmt: skip
        buffer = io.BytesIO()
        (rows.write_csv if path.suffix == ".csv" else rows.write_parquet)(buffer)
        path.write_bytes(damaged_bytes(buffer.getvalue(), chance))
    names = (path.name, path.name, path.name, "x.csv", "x.parquet", "x.pgn.zst", "", "../\0.pgn")
    return path, chance.choice(names)


_BENCH: list[Any] = []


def _browser() -> Any:
    """A workbench of this process, without an engine, and a browser that knows its token."""
    if not _BENCH:
        import atexit
        import tempfile

        from starlette.testclient import TestClient

        from milepost.web.app import create_app
        from milepost.web.settings import Settings

        folder = tempfile.TemporaryDirectory(prefix="campaign-web-")
        token, home = "only-for-the-campaign", "http://127.0.0.1:8765"
        settings = Settings(
            folder=Path(folder.name) / "bench", token=token, engine="no-such-engine-anywhere",
            store_folder=Path(folder.name) / "store",
        )  # fmt: skip
        browser = TestClient(
            create_app(settings), base_url=home, cookies={"milepost-8765": token},
            headers={"origin": home}, raise_server_exceptions=False,
        )  # fmt: skip
        browser.__enter__()
        atexit.register(browser.__exit__, None, None, None)
        _BENCH.extend((browser, folder))
    return _BENCH[0]


def read_upload(given: tuple[Path, str]) -> None:
    """Send it: an answer below 500, a job that comes to rest, a page of the set, and it is gone."""
    import time

    path, name = given
    browser = _browser()
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # other libraries' warnings are no answers of ours
        answer = browser.post(
            "/api/v1/sets", files={"file": (name, path.read_bytes())}, data={"analyse": "false"}
        )
        if answer.status_code >= 500:
            raise LostError(f"sending it: {answer.status_code} {answer.text[:300]}")
        if answer.status_code >= 300:
            return
        found = answer.json()["id"]
        # A job that never comes to rest is a hang: the campaign's clock ends it.
        while (job := browser.get(f"/api/v1/jobs/{found}").json())["state"] in (
            "waiting",
            "running",
        ):
            time.sleep(0.05)
        if "Traceback" in json.dumps(job):
            raise LostError(f"the job says {job}")
        for page in (f"/sets/{found}", f"/api/v1/sets/{found}"):
            seen = browser.get(page)
            if seen.status_code >= 500:
                raise LostError(f"{page}: {seen.status_code}")
        gone = browser.delete(f"/api/v1/sets/{found}")
        if gone.status_code >= 300:
            raise LostError(f"deleting it: {gone.status_code} {gone.text[:200]}")


KINDS = {
    kind.name: kind
    for kind in (
        Kind("pgn", make_pgn, read_pgn, 1000, read_pgns),
        Kind("compressed", make_packed, read_packed, 1250, read_packed_files),
        Kind("results", make_results, read_results_table, 500),
        Kind("spreads", make_spreads, read_spreads, 1000),
        Kind("calibration", make_calibration, read_calibration, 2000),
        Kind("store", make_store, read_store, 1000),
        Kind("uci", make_uci, read_uci, 5000),
        Kind("upload", make_upload, read_upload),
    )
}


@contextlib.contextmanager
def refusing() -> Iterator[list[str]]:
    """Take errors and warnings of ours as what they are: answers. Yields the errors' texts."""
    told: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", MilepostWarning)
        try:
            yield told
        except MilepostError as error:
            told.append(str(error))
    for text in told:
        if len(text.splitlines()) != 1 or not text.strip():
            raise LostError(f"a message of {len(text.splitlines())} lines: {text!r}")
