"""Tables that made commands fail with a traceback, or rate nonsense in silence."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import polars as pl
import pytest
from tests.cli.runner import run_inside

from milepost.io.files import read_table, write_table

FORCED = ("--force", "--calibration", "stockfish15.1-quick-values")


@pytest.fixture(scope="module")
def decisions(bundled_data: Path, tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    """The decisions of a player of the sample."""
    path = tmp_path_factory.mktemp("hostile") / "decisions.parquet"
    sample = bundled_data / "sample"
    done = run_inside("spreads", sample / "games.pgn", "--store", sample / "evaluations",
                      "-o", path, "-q", "-j", "1")  # fmt: skip
    assert done.returncode == 0, done.stderr
    table = pl.read_parquet(path)
    return table.filter(pl.col("mover") == table["mover"][0])


def failed_in_a_line(done: subprocess.CompletedProcess[bytes]) -> str:
    """Return the one line by which a command says why it failed."""
    told = done.stderr.decode().strip().splitlines()
    assert done.returncode == 1, told
    assert len(told) == 1, told
    assert told[0].startswith("milepost: ")
    return told[0]


def test_likelihood_of_a_table_that_says_little(decisions: pl.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "bare.parquet"
    bare = ["game_id", "values", "chosen", "depth_values"]
    decisions.select(bare).write_parquet(path)
    out = tmp_path / "out.csv"
    done = run_inside("likelihood", path, *FORCED, "-o", out)
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr
    assert len(read_table(out)) == decisions["game_id"].n_unique()
    named = run_inside("rate", path, *FORCED, "-q", "--player", "somebody")
    assert "lack the column mover" in failed_in_a_line(named)


def test_ratings_of_turns_that_all_weigh_nothing(decisions: pl.DataFrame, tmp_path: Path) -> None:
    path, out = tmp_path / "weightless.parquet", tmp_path / "out.csv"
    decisions.with_columns(weight=pl.lit(0.0)).write_parquet(path)
    done = run_inside("rate", path, *FORCED, "-o", out)
    assert done.returncode == 0, done.stderr
    row = read_table(out).row(0, named=True)
    assert row["rating"] in (None, "")
    assert "these turns set no bound" in row["warnings"]


def test_choices_that_are_not_said_are_not_rated_in_silence(
    decisions: pl.DataFrame, tmp_path: Path
) -> None:
    path = tmp_path / "table.parquet"
    nobody = pl.lit(None, dtype=pl.Int32)
    decisions.with_columns(chosen=nobody).write_parquet(path)
    assert "no decision says which option was chosen" in failed_in_a_line(
        run_inside("rate", path, *FORCED, "-q")
    )
    some = pl.when(pl.int_range(pl.len()) < 3).then(nobody).otherwise("chosen")
    decisions.with_columns(chosen=some).write_parquet(path)
    done = run_inside("rate", path, *FORCED, "-q")
    assert done.returncode == 0
    told = f"warning: 3 of {len(decisions)} decisions do not say which option was chosen"
    assert told in done.stderr.decode()


def test_values_that_are_not_best_first_are_told(decisions: pl.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    turned = pl.col("values").list.reverse()
    decisions.drop("depth_values").with_columns(turned).write_parquet(path)
    done = run_inside("rate", path, "-q", "--force", "--calibration", "rybka3-d13")
    assert "decisions are not best first" in done.stderr.decode()


def test_billions_of_unlisted_options_take_no_memory(
    decisions: pl.DataFrame, tmp_path: Path
) -> None:
    path = tmp_path / "table.parquet"
    decisions.with_columns(unlisted=pl.lit(2_000_000_000)).write_parquet(path)
    told = failed_in_a_line(run_inside("rate", path, *FORCED, "-q"))
    assert "a decision with 2,000,000,000 unlisted options" in told


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("[" * 100_000 + "]" * 100_000, "is no calibration: it is no JSON"),
        ('{"schema": 2, "name": "x"}', "it lacks 'map_error'; make it anew with calibrate"),
        ('{"schema": 2, "map_error": [[1, 2], [1]]}', "two lists alike"),
        ('{"schema": 2, "map_error": [[1, 2], [1, 1], [1]]}', "is a damaged calibration"),
        ("\x00", "is no calibration"),
    ],
)
def test_calibrations_that_are_none(
    decisions: pl.DataFrame, tmp_path: Path, content: str, told: str
) -> None:
    table, path = tmp_path / "table.parquet", tmp_path / "mine.json"
    decisions.write_parquet(table)
    path.write_text(content)
    assert told in failed_in_a_line(run_inside("rate", table, "-q", "--calibration", path))


RESULTS = "time,player_1,player_2,score\n2000,A,B,1\n2001,A,C,0.5\n"


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("list.ndjson", b'{"time":[1],"player_1":"A","player_2":"B","score":1}\n',
         "the column for time holds List(Int64), not one value a row"),
        ("utf16.csv", RESULTS.encode("utf-16"), "is UTF-16 text: save it as UTF-8"),
        ("wins.csv", b"time,player_1,player_2,wins,draws,losses\n2000,A,B,3000000000,0,0\n",
         "more than 10,000 games in one row"),
    ],
)  # fmt: skip
def test_results_that_cannot_be_read(tmp_path: Path, name: str, content: bytes, told: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert told in failed_in_a_line(run_inside("history", path, "-o", tmp_path / "out.csv", "-q"))


@pytest.mark.parametrize(("name", "mark"), [("a.csv", ";"), ("b.csv", "\t"), ("c.tsv", "\t")])
def test_semicolons_and_tabs_are_read_without_being_told(
    tmp_path: Path, name: str, mark: str
) -> None:
    plain, other = tmp_path / "plain.csv", tmp_path / name
    plain.write_text(RESULTS, encoding="utf-8")
    text = RESULTS.replace(",", mark)
    other.write_text(text.replace("0.5", "0,5") if mark == ";" else text, encoding="utf-8")
    written = []
    for path in (plain, other):
        out = tmp_path / "out.csv"
        done = run_inside("results", path, "-o", out, "-q")
        assert done.returncode == 0, done.stderr
        # All but the name of the file each row came from.
        written.append(out.read_bytes().replace(path.name.encode(), b""))
    assert written[0] == written[1]
    assert b"0.5" in written[0]


def test_rows_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    path, out = tmp_path / "results.csv", tmp_path / "out.csv"
    path.write_text(
        "time,player_1,player_2,score,weight\n2000,Ann,Bob,1,x\n2000,Ann,Cy,1,2\n2000,Ann,ann,1,1\n"
    )
    errors = tmp_path / "errors.csv"
    done = run_inside("results", path, "-o", out, "--errors", errors)
    assert done.returncode == 0, done.stderr
    assert len(read_table(out)) == 1
    assert read_table(errors)["reason"].to_list() == [
        "a weight that is no number", "a player against himself",
    ]  # fmt: skip


def test_cells_that_a_spreadsheet_would_run_are_written_as_text(tmp_path: Path) -> None:
    names = ["=1+1", "+SUM(A1)", "-2+3", "@x", "'=x", "-", "-5", "+1.5", "Müller", None, "'x"]
    frame = pl.DataFrame({"name": names, "number": range(-5, 6)})
    path = tmp_path / "table.csv"
    write_table(frame, path)
    cells = [line.split(",")[0] for line in path.read_text().splitlines()[1:]]
    assert cells[:5] == ["'=1+1", "'+SUM(A1)", "'-2+3", "'@x", "''=x"]
    assert cells[5:9] == ["-", "-5", "+1.5", "Müller"]
    assert read_table(path)["name"].to_list() == names


@pytest.mark.parametrize(
    "arguments",
    [
        ("results", "RESULTS", "-o", "MISSING/out.csv"),
        ("history", "RESULTS", "-o", "MISSING/out.csv", "-q"),
        ("history", "RESULTS", "--save", "MISSING/saved", "-q"),
        ("games", "GAMES", "-o", "MISSING/out.csv", "-j", "1"),
        ("turns", "GAMES", "-o", "MISSING/out.csv", "-j", "1"),
    ],
)
def test_an_output_in_a_folder_that_is_not_there(
    tmp_path: Path, arguments: tuple[str, ...], bundled_data: Path
) -> None:
    path = tmp_path / "results.csv"
    path.write_text(RESULTS)
    missing = tmp_path / "typed" / "wrongly"
    words = [
        word.replace("RESULTS", str(path))
        .replace("GAMES", str(bundled_data / "famous_games.pgn"))
        .replace("MISSING", str(missing))
        for word in arguments
    ]
    told = failed_in_a_line(run_inside(*words))
    assert f"there is no folder {missing}; make it first" in told
    assert not missing.parent.exists()


def test_a_store_described_by_what_is_no_description(tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    for text in ("[" * 100_000, json.dumps([1]), ""):
        (store / "store.json").write_text(text)
        assert "is no evaluation store" in failed_in_a_line(run_inside("store", "info", store))


def test_one_bad_cell_spoils_no_decimal_comma(tmp_path: Path) -> None:
    path = tmp_path / "semicolons.csv"
    path.write_text(
        "time;player_1;player_2;score\n2001;Ada;Bo;0,5\n2002;Bo;Cy;0,5\n2003;Cy;Ada;x\n",
        encoding="utf-8",
    )
    done = run_inside("results", path, "-o", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text(encoding="utf-8").count(",0.5,") == 2, done.stderr
    assert b"1 unreadable" in done.stderr


RUBBISH = bytes(range(256)) * 50
GOOD = b'[White "A"]\n[Black "B"]\n[Result "1-0"]\n\n1. e4 1-0\n\n'


@pytest.mark.parametrize("command", ["games", "turns", "results", "select"])
def test_input_of_which_nothing_can_be_read(command: str, tmp_path: Path) -> None:
    rubbish, utf16, good = (tmp_path / name for name in ("a.pgn", "b.pgn", "c.pgn"))
    rubbish.write_bytes(RUBBISH)
    utf16.write_bytes(GOOD.decode().encode("utf-16"))
    good.write_bytes(GOOD)
    out, errors = tmp_path / "out.csv", tmp_path / "out.errors.csv"
    told = failed_in_a_line(run_inside(command, rubbish, "-o", out, "-q"))
    assert told.endswith(f"{rubbish}, line 1: neither players nor moves; is it PGN?")
    told = failed_in_a_line(run_inside(command, rubbish, utf16, "-o", out, "-q"))
    assert f"no games could be read: {utf16}, line 1: the text is UTF-16; convert it" in told
    if command != "select":  # which reads only the games that are wanted
        assert told.endswith(f"(all 2: {errors})")
        assert len(read_table(errors)) == 2
    # Among others it is a warning.
    done = run_inside(command, rubbish, utf16, good, "-o", out, "-q")
    assert done.returncode == 0, done.stderr
    assert b"could not be read" in done.stderr


@pytest.mark.parametrize("command", ["results", "history"])
def test_a_table_without_rows_is_told(command: str, tmp_path: Path) -> None:
    path = tmp_path / "empty.csv"
    path.write_text(RESULTS.splitlines()[0] + "\n")
    told = failed_in_a_line(run_inside(command, path, "-o", tmp_path / "out.csv", "-q"))
    assert told.endswith(f"{path}: the table has no rows")


def test_a_history_of_games_without_results_says_why(tmp_path: Path) -> None:
    path = tmp_path / "open.pgn"
    path.write_bytes(GOOD.replace(b"1-0", b"*"))
    told = failed_in_a_line(run_inside("history", path, "-o", tmp_path / "out.csv", "-q"))
    assert told.endswith(f"no results in {path}: no game has a result and two named players")
    path.write_bytes(GOOD.replace(b"[Res", b'[Variant "Atomic"]\n[Res'))
    told = failed_in_a_line(run_inside("history", path, "-o", tmp_path / "out.csv", "-q"))
    assert told.endswith("(the variant is atomic)")
    path.write_bytes(GOOD.decode().encode("utf-16"))
    told = failed_in_a_line(run_inside("history", path, "-o", tmp_path / "out.csv", "-q"))
    assert "the text is UTF-16; convert it to UTF-8 first" in told


def test_a_history_names_the_first_rows_that_it_cannot_use(tmp_path: Path) -> None:
    path = tmp_path / "some.csv"
    path.write_text(RESULTS + "2001,A,a,1\n2001,A,C,x\n2001,,C,1\n")
    done = run_inside("history", path, "-o", tmp_path / "out.csv", "-q")
    assert done.returncode == 0
    assert done.stderr.decode().strip() == (
        f"warning: 3 games or rows could not be read; the first: {path}, row 3: a player against "
        "himself; row 4: no score that can be read (milepost results lists all)"
    )
