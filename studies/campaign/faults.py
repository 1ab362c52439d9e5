"""Faults while commands write: kills, signals, readers that leave, full disks, two runs at once.

Every command is run once undisturbed. Then it is disturbed at a random moment and run again: what
is there in the end must be what the undisturbed run made.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import polars as pl
from studies.campaign.kinds import DATA

FAMOUS = DATA / "famous_games.pgn"
SAMPLE = DATA / "sample"

# An engine of a few lines, so that the campaign needs none and a run takes seconds.
ENGINE = """#!{python}
import sys, time, zlib
fen = ""
for line in sys.stdin:
    line = line.strip()
    if line == "uci":
        print("id name Campaign 1")
        for name in ("Threads", "Hash", "MultiPV"):
            print(f"option name {{name}} type spin default 1 min 1 max 999")
        print("uciok", flush=True)
    elif line == "isready":
        print("readyok", flush=True)
    elif line.startswith("position fen "):
        fen = line[13:]
    elif line.startswith("go"):
        import chess
        time.sleep(0.005)
        moves = sorted(move.uci() for move in chess.Board(fen).legal_moves)
        scored = sorted((zlib.crc32((fen + move).encode()) % 300, move) for move in moves)
        for rank, (value, move) in enumerate(reversed(scored), start=1):
            told = f"seldepth 1 multipv {{rank}} score cp {{value}} nodes 1 pv {{move}}"
            print(f"info depth 1 {{told}}")
        print(f"bestmove {{moves[0]}}", flush=True)
"""
HASTY = (
    "import milepost.analysis.run.run as run; run.SAVE_SECONDS = 0.2; "
    "from milepost.cli.app import main; main()"
)
"""The command line, storing finished positions often, so that kills strike between shards."""


@dataclass
class Fault:
    """What was tried of one fault with one command."""

    name: str
    command: str
    tried: int = 0
    survived: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Command:
    """A command that writes, and what it leaves."""

    name: str
    words: Callable[[Path, Path], list[str]]
    """Its arguments, given the folder of inputs and that of outputs."""
    digest: Callable[[Path], str]
    """What must be the same in the end."""
    program: str = HASTY
    """What is run with these arguments."""


def _bytes_of(folder: Path) -> str:
    """The digest of all files of a folder; what belongs to a run that may go on is not counted."""
    digest = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        if path.name.startswith("."):
            continue  # locks, and what a killed run left half-written under another name
        if path.name.endswith("provenance.json"):
            continue  # it names the output's folder, which is another one every time
        digest.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _rows_of_store(folder: Path) -> str:
    from milepost.analysis.store.store import EvaluationStore

    rows = EvaluationStore(folder / "store").read().sort("position")
    return hashlib.sha256(rows.write_ndjson().encode()).hexdigest()


def commands(inputs: Path) -> dict[str, Command]:
    """The commands that write, on inputs of seconds."""
    games, results = inputs / "games.pgn", inputs / "results.csv"
    store = str(SAMPLE / "evaluations")
    analyse = ["analyse", str(inputs / "few.pgn"), "--engine", str(inputs / "engine"),
               "--depth", "1", "-j", "1", "-q"]  # fmt: skip
    rate = ["rate", str(SAMPLE / "games.pgn"), "--store", store, "-q", "-j", "1"]
    check = ["check", str(SAMPLE / "games.pgn"), "--no-analyse", "-q", "-j", "1"]
    made: dict[str, Callable[[Path, Path], list[str]]] = {
        "games": lambda _, o: ["games", str(games), "-o", str(o / "g.parquet"), "-j", "1", "-q"],
        "turns": lambda _, o: ["turns", str(games), "-o", str(o / "t.parquet"), "-j", "2", "-q"],
        "results": lambda _, o: ["results", str(games), "-o", str(o / "r.csv"), "-q"],
        "history": lambda _, o: ["history", str(results), "-o", str(o / "h.csv"), "--save",
                                 str(o / "saved"), "-q"],
        "rate": lambda _, o: [*rate, "-o", str(o / "ratings.csv")],
        "check": lambda _, o: [*check, "--store", _copied(o), "-o", str(o / "checks.csv")],
        "spreads": lambda _, o: ["spreads", *rate[1:], "-o", str(o / "s.parquet")],
        "select": lambda _, o: ["select", str(games), "--elo", "2500", "--elo-within", "500",
                                "-o", str(o / "s.csv"), "-q"],
        "calibrate": lambda _, o: ["calibrate", *rate[1:], "--maps", "line", "--folds", "2",
                                   "--repeats", "1", "--name", "x", "-o", str(o / "c.json")],
    }  # fmt: skip
    found = {"analyse": Command(
        "analyse", lambda _, o: [*analyse, "--store", str(o / "store")], _rows_of_store
    )}  # fmt: skip
    found |= {name: Command(name, words, _bytes_of) for name, words in made.items()}
    found["check"] = Command("check", made["check"], _checks)
    found["serve"] = Command(
        "serve",
        lambda _, o: [str(SAMPLE / "games.pgn"), store, str(o / "bench"), str(o / "told.json")],
        lambda o: hashlib.sha256((o / "told.json").read_bytes()).hexdigest(),
        "from studies.campaign.serving import main; main()",
    )
    engine = shutil.which("stockfish") or "/usr/games/stockfish"
    if Path(engine).exists():
        contenders = [f"--uci {engine} --nodes {nodes}" for nodes in (50, 200)]
        found["match"] = Command(
            "match",
            lambda _, o: ["match", *contenders, "--games", "4", "--seed", "3", "-j", "1", "-q",
                          "-o", str(o / "m.pgn")],
            lambda o: hashlib.sha256((o / "m.pgn").read_bytes()).hexdigest(),
        )  # fmt: skip
    return found


def _copied(out: Path) -> str:
    """A store of its own, since a check writes its ledger there."""
    shutil.copytree(SAMPLE / "evaluations", out / "store", dirs_exist_ok=True)
    return str(out / "store")


def _checks(folder: Path) -> str:
    return hashlib.sha256((folder / "checks.csv").read_bytes()).hexdigest()


def make_inputs(folder: Path, times: int) -> None:
    """Write the inputs of all commands."""
    folder.mkdir(parents=True, exist_ok=True)
    text = FAMOUS.read_text(encoding="utf-8")
    (folder / "games.pgn").write_text(
        "".join(text.replace('[Round "', f'[Round "{n}.') for n in range(times)), encoding="utf-8"
    )
    (folder / "few.pgn").write_text("[Event ".join(text.split("[Event ")[:4]), encoding="utf-8")
    rng = random.Random(1)
    rows = [
        {"time": 2000 + n % 20, "player_1": f"P{rng.randrange(200)}", "player_2": f"Q{n % 150}",
         "score": rng.choice((1.0, 0.5, 0.0))}
        for n in range(8000)
    ]  # fmt: skip
    pl.DataFrame(rows).write_csv(folder / "results.csv")
    engine = folder / "engine"
    engine.write_text(ENGINE.format(python=sys.executable), encoding="utf-8")
    engine.chmod(0o755)


def _start(words: list[str], program: str = HASTY, **options: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # type: ignore[call-overload, no-any-return]
        [sys.executable, "-c", program, *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        **options,
    )


def _run(words: list[str], program: str = HASTY, **options: object) -> tuple[int, str, float]:
    begun = time.monotonic()
    process = _start(words, program, **options)
    _, told = process.communicate(timeout=600)
    return process.returncode, told.decode("utf-8", "replace"), time.monotonic() - begun


STOPS = {"SIGKILL": -9, "SIGTERM": 143, "SIGHUP": 129, "SIGINT": 130}


def disturb(
    command: Command, how: str, inputs: Path, chance: random.Random, seconds: float, wanted: str
) -> str | None:
    """Stop a command at a random moment, run it again; returns what went wrong, if anything."""
    with tempfile.TemporaryDirectory(prefix="campaign-") as name:
        out = Path(name)
        words = command.words(inputs, out)
        process = _start(words, command.program)
        # Sometimes early, most often while it works; kills of an analysis wait for a shard.
        time.sleep(chance.uniform(0.15, 1.0) * seconds)
        number = signal.Signals[how]
        with contextlib.suppress(ProcessLookupError):
            if how == "SIGKILL":
                os.killpg(process.pid, number)
            else:
                process.send_signal(number)
        _, told = process.communicate(timeout=120)
        text = told.decode("utf-8", "replace")
        # Python itself is still starting: then the signal has its usual effect.
        expected = {STOPS[how], 0, -int(number)}
        if process.returncode not in expected:
            return f"{how} ended with {process.returncode}: {text[-300:]}"
        if "Traceback" in text and "milepost" in text and process.returncode > 0:
            return f"{how}: {text[-300:]}"
        code, told_again, _ = _run(words, command.program)
        if code != 0:
            return f"the run after {how} ended with {code}: {told_again[-300:]}"
        if command.digest(out) != wanted:
            return f"the run after {how} left something else"
    return None


def known_faults(work: Path) -> list[Fault]:
    """What earlier runs have found."""
    return [Fault(**json.loads(path.read_text())) for path in sorted(work.glob("fault-*.json"))]


def run_faults(work: Path, seed: int, kills: int, only: Sequence[str] = ()) -> Iterator[Fault]:
    """Try every fault with every command; what is in the folder is not tried again."""
    inputs = work / "inputs"
    make_inputs(inputs, times=2)
    for command in commands(inputs).values():
        if only and command.name not in only:
            continue
        plan = {"SIGKILL": kills, "SIGTERM": max(1, kills // 5), "SIGHUP": max(1, kills // 10)}
        plan["SIGINT"] = max(1, kills // 10)
        wanted, usual = "", 0.0
        for how, count in plan.items():
            record = work / f"fault-{command.name}-{how}-{seed}-{count}.json"
            if not record.exists():
                if not wanted:
                    with tempfile.TemporaryDirectory() as name:
                        code, told, usual = _run(command.words(inputs, Path(name)), command.program)
                        if code:
                            raise SystemExit(f"{command.name} fails undisturbed: {told}")
                        wanted = command.digest(Path(name))
                fault = Fault(how, command.name)
                begun = time.monotonic()
                for number in range(count):
                    chance = random.Random(f"{command.name} {how} {seed} {number}")
                    problem = disturb(command, how, inputs, chance, usual, wanted)
                    fault.tried += 1
                    fault.survived += problem is None
                    if problem:
                        print(f"{command.name} {number}: {problem}", file=sys.stderr, flush=True)
                fault.seconds = time.monotonic() - begun
                record.write_text(json.dumps(asdict(fault)))
            yield Fault(**json.loads(record.read_text()))
    trials = {} if only else {
        "file size limit": limited, "small and read-only disks": small_disks,
        "two runs on one store": together, "reader leaves (SIGPIPE)": reader_leaves,
    }  # fmt: skip
    for name, trial in trials.items():
        record = work / f"fault-once-{name.replace(' ', '-')}.json"
        if not record.exists():
            record.write_text(json.dumps(asdict(_one(name, trial, inputs))))
        yield Fault(**json.loads(record.read_text()))


def _one(name: str, trial: Callable[[Path], tuple[str, str | None]], inputs: Path) -> Fault:
    begun = time.monotonic()
    command, problem = trial(inputs)
    if problem:
        print(f"{name}: {problem}", file=sys.stderr, flush=True)
    tried = command.count(",") + 1
    return Fault(name, command, tried, tried if problem is None else 0, time.monotonic() - begun)


NO_LIMITS = ("check", "serve", "match")
"""Commands that need more room from the start: a store of their own, sets, a journal of games."""
LIMITED = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192)); "


def refused(command: Command, inputs: Path, out: Path, before: str = "") -> str | None:
    """Run a command that cannot write; returns what is wrong with the way it says so."""
    done = subprocess.run(
        [sys.executable, "-c", before + HASTY, *command.words(inputs, out)],
        capture_output=True, check=False, text=True,
    )  # fmt: skip
    told = done.stderr.strip().splitlines()
    left = [path.name for path in out.rglob("*.partial")]
    if left:
        return f"{command.name} left {left}"
    if done.returncode == 0:
        return None  # it needs no more room than there is
    in_a_line = len(told) == 1 and told[0].startswith("milepost: cannot write ")
    return None if done.returncode == 1 and in_a_line else f"{command.name}: {done.stderr[-300:]}"


def limited(inputs: Path) -> tuple[str, str | None]:
    """Every command with room for 8 kB a file: one line, exit code 1, nothing half-written."""
    problems = []
    chosen = {name: each for name, each in commands(inputs).items() if name not in NO_LIMITS}
    for command in chosen.values():
        with tempfile.TemporaryDirectory(prefix="campaign-") as name:
            problems.append(refused(command, inputs, Path(name), LIMITED))
    return ", ".join(chosen), "; ".join(filter(None, problems)) or None


def small_disks(inputs: Path) -> tuple[str, str | None]:
    """A disk of 16 kB, and one that may only be read, where they can be mounted."""
    problems = []
    chosen = {name: each for name, each in commands(inputs).items() if name not in NO_LIMITS}
    for options in ("size=16k", "size=16k,ro"):
        for command in chosen.values():
            with tempfile.TemporaryDirectory(prefix="campaign-") as name:
                mount = [
                    shutil.which("mount") or "mount",
                    "-t",
                    "tmpfs",
                    "-o",
                    options,
                    "tmpfs",
                    name,
                ]
                if subprocess.run(mount, check=False, capture_output=True).returncode:
                    return "none: no disk can be mounted here", None
                try:
                    problems.append(refused(command, inputs, Path(name)))
                finally:
                    subprocess.run([shutil.which("umount") or "umount", "-l", name], check=True)
    return ", ".join(chosen), "; ".join(filter(None, problems)) or None


def together(inputs: Path) -> tuple[str, str | None]:
    """Two analyses of the same games into one store."""
    command = commands(inputs)["analyse"]
    with (
        tempfile.TemporaryDirectory(prefix="campaign-") as alone,
        tempfile.TemporaryDirectory(prefix="campaign-") as both,
    ):
        _run(command.words(inputs, Path(alone)))
        processes = [_start(command.words(inputs, Path(both))) for _ in range(2)]
        ends = [process.communicate(timeout=600)[1] for process in processes]
        codes = [process.returncode for process in processes]
        if codes != [0, 0]:
            return "analyse", f"{codes}: {[end[-200:] for end in ends]}"
        same = command.digest(Path(alone)) == command.digest(Path(both))
    return "analyse", None if same else "the rows differ"


def reader_leaves(inputs: Path) -> tuple[str, str | None]:
    """Standard output is closed after ten bytes."""
    problems = []
    for words in (["games", str(inputs / "games.pgn")], ["turns", str(inputs / "games.pgn")],
                  ["results", str(inputs / "games.pgn")],
                  ["history", str(inputs / "results.csv")]):  # fmt: skip
        process = subprocess.Popen(
            [sys.executable, "-m", "milepost", *words, "-o", "-", "-q"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        told = process.stderr.read()
        process.stderr.close()
        if process.wait() != 0 or told:
            problems.append(f"{words[0]}: {process.returncode} {told[-200:]!r}")
    return "games, turns, results, history", "; ".join(problems) or None
