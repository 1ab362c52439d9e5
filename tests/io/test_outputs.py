"""Outputs: devices and FIFOs stay what they are, and what is no file is refused."""

from __future__ import annotations

import io
import os
import socket
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from milepost.api.games import Target
from milepost.api.matches import match
from milepost.errors import OutputError
from milepost.intrinsic.rating.fit_row import read_rows
from milepost.io.files import FORMATS, write_bytes, write_table, write_text
from milepost.io.outputs import check_output, is_stream, plain_output, refuse_inputs
from milepost.io.work import WorkFolder

FRAME = pl.DataFrame({"a": [1, 2]})
MADE = {"made_by": "milepost"}
READERS: dict[str, Callable[[io.BytesIO], pl.DataFrame]] = {
    "parquet": pl.read_parquet,
    "csv": pl.read_csv,
    "ndjson": pl.read_ndjson,
}


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    return path


@pytest.fixture
def null_device(tmp_path: Path) -> Path:
    """A null device of our own, where the system lets us make one."""
    path = tmp_path / "null"
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        path.write_bytes(b"")
    except OSError as error:
        pytest.skip(f"no device can be made here: {error}")
    return path


def through(fifo: Path, write: Callable[[], None]) -> bytes:
    """What comes out of a FIFO while something is written to it."""
    came: list[bytes] = []
    reader = threading.Thread(target=lambda: came.append(fifo.read_bytes()), daemon=True)
    reader.start()
    write()
    reader.join(timeout=10)
    if not came:  # it waits for somebody who writes: nobody did
        os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
    return came[0]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_text_goes_through_a_fifo_which_stays(fifo: Path) -> None:
    assert through(fifo, lambda: write_text(fifo, "text")) == b"text"
    assert fifo.is_fifo()
    assert names(fifo.parent) == ["fifo"]


@pytest.mark.parametrize("form", FORMATS)
def test_a_table_goes_through_a_fifo_with_nothing_beside_it(fifo: Path, form: str) -> None:
    data = through(fifo, lambda: write_table(FRAME, fifo, form=form, made=MADE))
    assert READERS[form](io.BytesIO(data)).equals(FRAME)
    assert fifo.is_fifo()
    assert names(fifo.parent) == ["fifo"]


@pytest.mark.parametrize("form", FORMATS)
def test_a_device_is_not_replaced(null_device: Path, form: str) -> None:
    write_bytes(null_device, b"data")
    write_table(FRAME, null_device, form=form, made=MADE)
    assert null_device.is_char_device()
    assert names(null_device.parent) == ["null"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "file").write_bytes(b"old")
    (tmp_path / "link").symlink_to(folder / "file")
    write_bytes(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (folder / "file").read_bytes() == b"new"
    assert names(folder) == ["file"]


def test_a_link_to_a_fifo_is_the_fifo(fifo: Path) -> None:
    link = fifo.with_name("link")
    link.symlink_to(fifo)
    assert is_stream(link)
    assert through(fifo, lambda: write_bytes(link, b"data")) == b"data"
    assert link.is_symlink()


def test_a_folder_and_a_socket_are_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(OutputError, match="it is a folder; give the name of a file"):
        write_bytes(tmp_path, b"data")
    monkeypatch.chdir(tmp_path)  # a socket's name is short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        with pytest.raises(OutputError, match="a device, not a file"):
            write_bytes("socket", b"data")


def test_what_cannot_be_written_is_told_beforehand(tmp_path: Path, fifo: Path) -> None:
    for fine in ("-", fifo, tmp_path / "new", "new"):
        check_output(fine)
    with pytest.raises(OutputError, match="there is no folder"):
        check_output(tmp_path / "none" / "file")
    with pytest.raises(OutputError, match="it is a folder"):
        check_output(tmp_path)


def test_an_input_is_not_written_over_under_any_name(tmp_path: Path, fifo: Path) -> None:
    games, link = tmp_path / "games", tmp_path / "link"
    games.write_bytes(b"games")
    link.symlink_to(games)
    for name in (games, link, tmp_path / "." / "games"):
        with pytest.raises(OutputError, match="it is an input, which would be lost"):
            refuse_inputs(name, ["not there", games])
    refuse_inputs(tmp_path / "other", [games])
    refuse_inputs("-", ["-", games])
    refuse_inputs(fifo, [fifo])  # what flows through is not lost by it


def test_files_that_are_held_open_are_not_replaced() -> None:
    for name in ("/dev/stdout", "/dev/stderr", "/dev/fd/3", "/proc/self/fd/1"):
        assert is_stream(name)
    assert plain_output("/dev/stdout") == "-"
    assert plain_output("out.csv") == "out.csv"


def test_a_name_that_is_none_and_a_folder_that_is_a_file(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="the output has no name"):
        check_output("")
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="file is a file, not a folder"):
        check_output(tmp_path / "file" / "x.csv")


def test_bytes_go_to_standard_output(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    write_bytes("-", b"data")
    assert capfdbinary.readouterr().out == b"data"
    assert not Path("-").exists()


def test_a_job_keeps_nothing_beside_a_stream(fifo: Path) -> None:
    folder = WorkFolder(fifo, {})
    assert not folder.kept
    folder.remove()
    assert Target(str(fifo), "csv").errors_path is None
    assert names(fifo.parent) == ["fifo"]


def test_who_needs_a_file_refuses_a_stream(fifo: Path) -> None:
    with pytest.raises(OutputError, match=r"fifo: a match keeps its games in its file"):
        match(["--elo 1500", "--elo 1600"], fifo)
    with pytest.raises(OutputError, match="standard output: a match keeps its games"):
        match(["--elo 1500", "--elo 1600"], "-")
    with pytest.raises(OutputError, match="a row is added to those in the file"):
        read_rows(fifo)
