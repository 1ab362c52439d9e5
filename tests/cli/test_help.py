"""Help that can be read: whole summaries, an example in every help, -h, 80 columns, completion."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from tests.cli.runner import run_inside
from typer.main import get_command

from milepost.cli import guide, moved
from milepost.cli.app import app
from milepost.cli.help import summary
from milepost.errors import InputError

ROOT: Any = get_command(app)
TOP = typer.Context(ROOT, info_name="milepost", help_option_names=["-h", "--help"])
BASH = shutil.which("bash") or ""
INTERNALS = re.compile(r"<\w|\{[A-Z]|\[required\]\.|x>=|<=x|list\[|str \| None")


def commands() -> dict[str, tuple[Any, Any]]:
    """Every command and group by its full name, with a context to ask for help in."""
    found: dict[str, tuple[Any, Any]] = {"": (ROOT, TOP)}
    for name, command in ROOT.commands.items():
        context = typer.Context(command, info_name=name, parent=TOP)
        found[name] = (command, context)
        for part, leaf in getattr(command, "commands", {}).items():
            inner = typer.Context(leaf, info_name=part, parent=context)
            found[f"{name} {part}"] = (leaf, inner)
    return found


COMMANDS = commands()


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_80_columns_without_internals(name: str) -> None:
    command, context = COMMANDS[name]
    text = command.get_help(context)
    assert max(len(line) for line in text.splitlines()) <= 80
    assert not INTERNALS.search(text), INTERNALS.search(text)
    assert "-h, --help" in text
    assert "Example" in text
    if not hasattr(command, "commands"):
        assert "-q, --quiet" in text
        assert "-v, --verbose" in text


def test_summaries_are_whole_lines_in_sections() -> None:
    text = ROOT.get_help(TOP)
    for name, (command, _) in COMMANDS.items():
        if " " not in name and name:
            assert re.search(rf"^  {name} +{re.escape(summary(command))}$", text, re.MULTILINE)
    assert "..." not in text.replace("[ARGS]...", "")
    assert "Others:" not in text  # every command has its section
    listed = [name for under in guide.SECTIONS.values() for name in under]
    assert sorted(listed) == sorted(ROOT.commands)


@pytest.mark.parametrize("name", [name for name in COMMANDS if name])
def test_every_example_parses_and_is_of_its_command(name: str) -> None:
    for line, what in guide.EXAMPLES[name]:
        assert what
        assert len(line) <= 78
        words = shlex.split(line)
        assert words[0] == "milepost"
        command, group, rest = ROOT, TOP, words[1:]
        while hasattr(command, "commands"):
            command = command.commands[rest[0]]
            group = typer.Context(command, info_name=rest[0], parent=group)
            rest = rest[1:]
        # Parses as when it is run: unknown options and words are refused.
        parent = group.parent
        command.make_context(group.info_name, list(rest), parent=parent)
        assert words[1] == name.split(maxsplit=1)[0]


def test_an_example_with_a_wrong_word_would_be_seen() -> None:
    with pytest.raises(InputError, match="did you mean quick"):
        ROOT.commands["analyse"].make_context(
            "analyse", ["x.pgn", "--store", "s", "--plan", "quik"], parent=TOP
        )


def test_h_is_help() -> None:
    for words in (["-h"], ["rate", "-h"], ["store", "-h"], ["store", "merge", "-h"]):
        done = run_inside(*words)
        assert done.returncode == 0
        assert done.stdout.startswith(b"Usage: milepost")


def test_former_names_still_work_with_a_note(capsys: pytest.CaptureFixture[str]) -> None:
    assert moved.renamed("rate", ["x", "--least", "5", "--most=3"]) == [
        "x", "--min-turns", "5", "--top=3",
    ]  # fmt: skip
    told = capsys.readouterr().err
    assert "--least is now --min-turns" in told
    assert "--most is now --top" in told
    years = moved.renamed("select", ["--years", "1991-1994", "--", "--cap"])
    assert years == ["--from", "1991", "--to", "1994", "--", "--cap"]
    for name, former in moved.RENAMED.items():
        options = {option for param in COMMANDS[name][0].params for option in param.opts}
        for old, now in former.items():
            assert old not in options
            assert set([now] if isinstance(now, str) else now) <= options, (name, now)


def completions(*words: str) -> list[str]:
    """What a bash offers for the last word: the very protocol of the script that is installed."""
    asked = {
        "COMP_WORDS": "\n".join(words),
        "COMP_CWORD": str(len(words) - 1),
        "_MILEPOST_COMPLETE": "complete_bash",
    }
    program = Path(sys.executable).with_name("milepost")
    done = subprocess.run(
        [program], env={**os.environ, **asked}, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_completion_offers_commands_options_and_words() -> None:
    assert completions("milepost", "revi") == ["review"]
    assert "--calibration" in completions("milepost", "rate", "x", "--cal")
    assert completions("milepost", "rate", "x", "--by", "ph") == ["phase"]
    assert completions("milepost", "analyse", "x", "--plan", "st") == ["standard"]


@pytest.mark.skipif(not BASH, reason="there is no bash")
def test_completion_installs_with_one_command_and_works_in_bash(tmp_path: Path) -> None:
    bin_folder = Path(sys.executable).parent
    env = {
        "HOME": str(tmp_path),
        "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
        "TERM": "dumb",
    }
    # A shell of its own, as a user would type it: the command finds out which shell it is.
    typed = 'milepost --install-completion; echo "code $?"'
    done = subprocess.run([BASH, "-c", typed], env=env, capture_output=True, text=True, check=True)
    assert "code 0" in done.stdout
    assert "bash completion installed" in done.stdout
    asked = (
        'source "$HOME/.bashrc"; complete -p milepost; '
        "COMP_WORDS=(milepost comp); COMP_CWORD=1; "
        '"$(complete -p milepost | sed -E "s/.*-F ([^ ]+) .*/\\1/")" milepost; '
        'echo "offers: ${COMPREPLY[*]}"'
    )
    done = subprocess.run([BASH, "-c", asked], env=env, capture_output=True, text=True, check=True)
    assert "offers: compare" in done.stdout, done.stdout + done.stderr


def test_the_other_way_to_ask_for_a_script_works_too() -> None:
    program = Path(sys.executable).with_name("milepost")
    done = subprocess.run(
        [program], env={**os.environ, "_MILEPOST_COMPLETE": "bash_source"}, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    assert "complete" in done.stdout


def test_no_help_tells_a_default_twice() -> None:
    for name, (command, context) in commands().items():
        told = " ".join(command.get_help(context).split())
        assert not re.search(r"\[default: [^]]*\] *\[default", told), name


def test_pages_use_the_present_names_of_options() -> None:
    root = Path(__file__).parents[2]
    stale = []
    for page in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        for name, typed in re.findall(r"milepost +([a-z-]+)([^`#|;\n]*)", text):
            words = re.split(r"[ =]", typed)
            stale += [
                f"{page.name}: {name} {old}" for old in moved.RENAMED.get(name, {}) if old in words
            ]
    assert not stale


def test_every_command_with_an_input_says_what_it_holds_in_memory() -> None:
    from tests.cli.runner import run_inside
    from tests.test_house import all_commands

    from milepost.cli import guide

    named = set(guide.MEMORY) | set(guide.NO_INPUT)
    assert named == set(all_commands())
    said = run_inside("rate", "--help").stdout.decode()
    assert "Memory: All turns are held, about 6 kB each" in " ".join(said.split())


def test_an_option_that_stands_elsewhere_is_named_with_its_place() -> None:
    with pytest.raises(typer.BadParameter, match="inside its quotes"):
        moved.renamed("match", ["--elo 1600", "--elo 1800", "--plan", "bullet"])
    assert moved.renamed("match", ["--elo 1600", "--games", "2"]) == ["--elo 1600", "--games", "2"]
