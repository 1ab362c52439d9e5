"""Requests that nobody should send: the right status, no traceback, nothing written."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import polars as pl
import pytest
import zstandard
from starlette.testclient import TestClient
from tests.web.client import HOME, NO_ENGINE, TOKEN, make_client, send, wait_for

from milepost.errors import InputError
from milepost.web.safety.uploads import plain_title
from milepost.web.settings import Limits, Settings

SETS = "/api/v1/sets"


@pytest.fixture(scope="module")
def lone(settings: Settings) -> TestClient:
    """A client at a workbench of its own whose jobs never begin, and with small limits."""
    limits = Limits(packed_bytes=200_000, unpacked_bytes=1_500_000, games=50)
    own = Settings(folder=settings.folder.parent / "lone", token=TOKEN, engine=NO_ENGINE,
                   limits=limits)  # fmt: skip
    return make_client(own)


def files_in(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": "127.0.0.1:80"}, 421),
        ({"host": "127.0.0.1.evil.example:8765"}, 421),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1:9999"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"cookie": ""}, 401),
        ({"cookie": "milepost-8765=wrong"}, 401),
        ({"cookie": "milepost-8765=" + TOKEN[:-1]}, 401),
    ],
)
def test_strangers_are_refused(lone: TestClient, headers: dict[str, str], status: int) -> None:
    lone.cookies.clear()
    sent = {"cookie": f"milepost-8765={TOKEN}", **headers}
    answer = lone.post(SETS, files={"file": ("a.pgn", b"1. e4 e5 1-0")}, headers=sent)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_write_without_origin_needs_the_token_itself(lone: TestClient) -> None:
    lone.cookies.clear()
    del lone.headers["origin"]
    try:
        cookie = {"cookie": f"milepost-8765={TOKEN}"}
        assert lone.delete(f"{SETS}/0000000000000000", headers=cookie).status_code == 403
        bearer = {"authorization": f"Bearer {TOKEN}"}
        assert lone.delete(f"{SETS}/0000000000000000", headers=bearer).status_code == 404
    finally:
        lone.headers["origin"] = HOME


def test_the_token_becomes_a_cookie_and_leaves_the_address(lone: TestClient) -> None:
    lone.cookies.clear()
    assert lone.get("/?token=wrong").status_code == 401
    answer = lone.get(f"//evil.example/?token={TOKEN}&by=x", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"][:1]) == (303, "/")
    assert not answer.headers["location"].startswith("//")
    assert TOKEN not in answer.headers["location"]
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie


def test_every_answer_has_a_policy(lone: TestClient) -> None:
    for path in ("/", "/static/style.css", "/nowhere", SETS):
        headers = lone.get(path, headers={"authorization": f"Bearer {TOKEN}"}).headers
        assert "default-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        assert "access-control-allow-origin" not in headers


def tags(count: int) -> bytes:
    lines = "".join(f'[Tag{i} "x"]\n' for i in range(count))
    return f'[Event "x"]\n{lines}\n1. e4 e5 1-0\n'.encode()


HOSTILE = {
    "empty": (b"", 422),
    "html": (b"<!DOCTYPE html><html><script>alert(1)</script></html>", 415),
    "svg": (b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", 415),
    "binary": (b"MZ\0\0" * 100, 415),
    "zstd bomb": (zstandard.compress(b"\0" * 60_000_000), 413),
    "gzip bomb": (gzip.compress(b"[Event \"x\"]\n" * 5_000_000), 413),
    "cut zstd": (zstandard.compress(b'[Event "x"]\n\n1. e4 e5 1-0\n' * 40)[:-9], 422),
    "many tags": (tags(5000), 422),
    "many games": (b'[Event "x"]\n\n1. e4 e5 1-0\n\n' * 60, 413),
    "too large": (b'[Event "x"]\n\n' + b"1. e4 e5 " * 40_000, 413),
    "no parquet": (b"PAR1 and nothing else", 422),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_and_nothing_stays(lone: TestClient, name: str) -> None:
    data, status = HOSTILE[name]
    folder = lone.app._settings.folder  # type: ignore[attr-defined]
    before = files_in(folder.parent)
    sent = {"authorization": f"Bearer {TOKEN}"}
    answer = lone.post(SETS, files={"file": (f"{name}.pgn", data)}, headers=sent)
    assert answer.status_code == status, answer.text
    assert set(answer.json()) == {"type", "title", "status", "detail"}
    assert "Traceback" not in answer.text
    assert files_in(folder.parent) == before


def test_a_hundred_thousand_tags_are_refused(client: TestClient, settings: Settings) -> None:
    # By the limits that users have, which let a file of this size through.
    before = files_in(settings.folder.parent)
    answer = client.post(SETS, files={"file": ("tags.pgn", tags(100_000))})
    assert answer.status_code == 422, answer.text
    assert "tags" in answer.json()["detail"]
    assert files_in(settings.folder.parent) == before


def test_a_length_that_lies_is_noticed(lone: TestClient) -> None:
    sent = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"}
    answer = lone.post("/api/v1/sample", content=(b"x" * 1000 for _ in range(100)), headers=sent)
    assert answer.status_code in {201, 413}  # nobody reads that body
    boundary = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
    sent["content-type"] = "multipart/form-data; boundary=b"
    pieces = [boundary, *[b"1. e4 e5 " * 5000] * 10, b"\r\n--b--\r\n"]
    answer = lone.post(SETS, content=iter(pieces), headers=sent)
    assert answer.status_code == 413


@pytest.mark.parametrize("path", ["../../etc/passwd", "..%2f..%2fetc", "0" * 17, "a b", "é", "%00"])
def test_an_id_is_never_a_path(lone: TestClient, path: str) -> None:
    sent = {"authorization": f"Bearer {TOKEN}"}
    for address in (f"{SETS}/{path}", f"/sets/{path}", f"/api/v1/calibrations/{path}"):
        answer = lone.get(address, headers=sent)
        assert answer.status_code == 404
        assert "root:" not in answer.text


def test_names_of_files_are_only_shown() -> None:
    assert plain_title("../../etc/pass\0wd\n.pgn") == "passwd.pgn"
    assert plain_title("C:\\games\\..\\é\u202e.pgn") == "é.pgn"
    assert plain_title("///") == "games"
    assert len(plain_title("x" * 1000)) == 80


def test_a_host_that_others_reach_needs_leave(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="other machines"):
        Settings(folder=tmp_path, token=TOKEN, host="0.0.0.0")  # noqa: S104
    with pytest.raises(InputError, match="token"):
        Settings(folder=tmp_path, token="short")  # noqa: S106


SCRIPT = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def odd_set(client: TestClient) -> str:
    """Games whose tags are scripts, formulas and too long, with many nested variations."""
    deep = "(" * 3000 + "1. d4" + ")" * 3000
    text = "".join(
        f'[Event "{SCRIPT}"]\n[White "{white}"]\n[Black "{SCRIPT}{number}"]\n'
        f'[Date "2020.01.01"]\n[Result "1-0"]\n\n1. e4 {deep if number == 1 else ""} e5 '
        f"2. Nf3 {{ {SCRIPT} }} Nc6 1-0\n\n"
        for number, white in enumerate(("=1+1", SCRIPT, "x" * 400, "Ødemarken, Liv"))
    )
    set_id = send(client, text.encode(), f"../{SCRIPT}.pgn")
    wait_for(client, set_id)
    return set_id


def test_tags_are_never_markup(client: TestClient, odd_set: str) -> None:
    about = client.get(f"{SETS}/{odd_set}").json()
    assert about["found"] == 4
    assert about["kept"] == 3
    assert about["skipped"] == {"a tag longer than 255 letters": 1}
    page = client.get(f"/sets/{odd_set}").text
    assert SCRIPT not in page
    assert "&lt;script&gt;" in page
    assert "Ødemarken, Liv" in page
    csv = client.get(f"{SETS}/{odd_set}/games?format=csv").content
    assert pl.read_csv(io.BytesIO(csv))["white"][0] == "'=1+1"
