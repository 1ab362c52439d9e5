"""The documentation as a site: it builds without a warning and needs nothing from elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import milepost

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
FETCHED = re.compile(
    r"""<(?:script|img|iframe|source)\b[^>]*\bsrc=["'](?:https?:)?//"""
    r"""|<link\b[^>]*\bhref=["'](?:https?:)?//"""
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages, built with warnings as errors."""
    folder = tmp_path_factory.mktemp("site")
    words = ["-q", "-W", "--keep-going", "-b", "html", "-d", str(folder / "trees")]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *words, str(ROOT / "docs"), str(folder / "html")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder / "html"


def test_every_page_is_built_and_can_be_found(site: Path) -> None:
    for page in PAGES:
        built = site / page.relative_to(ROOT / "docs").with_suffix(".html")
        assert built.exists(), page
    assert (site / "search.html").exists()


def test_nothing_is_fetched_when_a_page_is_read(site: Path) -> None:
    for page in site.rglob("*.html"):
        assert not FETCHED.search(page.read_text(encoding="utf-8")), page
    for sheet in site.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        assert not re.search(r"""url\(\s*["']?(?:https?:)?//|@import\s+["']https?:""", text), sheet


@pytest.mark.parametrize(
    "tag",
    [
        '<script async="async" src="https://cdn.example/mathjax.js">',
        "<img alt='' src='//img.example/badge.svg'>",
        '<link rel="stylesheet" href="https://fonts.example/css">',
    ],
)
def test_what_is_fetched_would_be_seen(tag: str) -> None:
    assert FETCHED.search(tag)


def test_formulas_are_drawn_by_the_browser(site: Path) -> None:
    page = (site / "method" / "intrinsic.html").read_text(encoding="utf-8")
    formulas = re.findall(r"<math\b.*?</math>", page, re.S)
    assert len(formulas) > 10
    for path in (site / "method").glob("*.html"):
        for formula in re.findall(r"<math\b.*?</math>", path.read_text(encoding="utf-8"), re.S):
            assert "\\" not in formula, f"{path.name}: a command that was not understood: {formula}"


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    reference = "".join(
        page.read_text(encoding="utf-8") for page in (site / "reference").glob("*.html")
    )
    names = {name for name in dir(milepost) if not name.startswith("_")} - {"api", "history"}
    missing = {name for name in names if f'id="milepost.{name}"' not in reference}
    assert missing == set()


@pytest.mark.parametrize("page", ["README.md", "docs/install.md"])
def test_who_has_made_the_demo_is_told_where_the_command_is(page: str) -> None:
    venv = re.search(r"^VENV := (\S+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    assert venv is not None
    after = (ROOT / page).read_text(encoding="utf-8").partition("make demo")[2]
    assert f"`{venv[1]}/bin/milepost`" in after.partition("\n## ")[0]
