"""Kills and signals while commands write.

Every command is run once undisturbed. Then it is disturbed at a random moment and run again: what
is there in the end must be what the undisturbed run made.
"""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import polars as pl
from studies.campaign import serving
from studies.campaign.kinds import DATA
from studies.campaign.warm import Program, Running, command_line

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
    program: Program = command_line
    """What is run with these arguments."""
    code: int = 0
    """The exit code of an undisturbed run."""
    together: bool = False
    """Whether signals go to all its processes: the server is not the one that was started."""


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
    some, every = inputs / "sample.pgn", SAMPLE / "games.pgn"
    rate = [str(some), "--store", store, "-q", "-j", "1"]
    check = ["check", str(some), "--no-analyse", "-q", "-j", "1"]
    made: dict[str, Callable[[Path, Path], list[str]]] = {
        "games": lambda _, o: ["games", str(games), "-o", str(o / "g.parquet"), "-j", "1", "-q"],
        "turns": lambda _, o: ["turns", str(games), "-o", str(o / "t.parquet"), "-j", "1", "-q"],
        "results": lambda _, o: ["results", str(games), "-o", str(o / "r.csv"), "-q"],
        "history": lambda _, o: ["history", str(results), "-o", str(o / "h.csv"), "--save",
                                 str(o / "saved"), "-q"],
        "rate": lambda _, o: ["rate", *rate, "-o", str(o / "ratings.csv")],
        "check": lambda _, o: [*check, "--store", _copied(o), "-o", str(o / "checks.csv")],
        "spreads": lambda _, o: ["spreads", *rate, "-o", str(o / "s.parquet")],
        "select": lambda _, o: ["select", str(games), "--elo", "2500", "--elo-within", "500",
                                "-o", str(o / "s.csv"), "-q"],
        "calibrate": lambda _, o: ["calibrate", str(every), *rate[1:], "--maps", "line",
                                   "--folds", "2", "--repeats", "1", "--name", "x",
                                   "-o", str(o / "c.json")],
    }  # fmt: skip
    found = {"analyse": Command(
        "analyse", lambda _, o: [*analyse, "--store", str(o / "store")], _rows_of_store
    )}  # fmt: skip
    found |= {name: Command(name, words, _bytes_of) for name, words in made.items()}
    found["check"] = Command("check", made["check"], _checks)
    # The sample is too small for a calibration that passes its checks: it is written, with code 1.
    found["calibrate"] = Command("calibrate", made["calibrate"], _bytes_of, code=1)
    found["serve"] = Command(
        "serve",
        lambda _, o: [str(some), store, str(o / "bench"), str(o / "told.json")],
        lambda o: hashlib.sha256((o / "told.json").read_bytes()).hexdigest(),
        serving.main,
        together=True,
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
    sample = (SAMPLE / "games.pgn").read_text(encoding="utf-8")
    (folder / "sample.pgn").write_text(
        "[Event ".join(sample.split("[Event ")[:13]), encoding="utf-8"
    )
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


def _run(words: list[str], program: Program = command_line) -> tuple[int, str, float]:
    begun = time.monotonic()
    process = Running(words, program)
    code, told = process.end(600)
    return code, told, time.monotonic() - begun


STOPS = {"SIGKILL": -9, "SIGTERM": 143, "SIGHUP": 129, "SIGINT": 130}


def disturb(
    command: Command, how: str, inputs: Path, chance: random.Random, seconds: float, wanted: str,
    strikes: int = 1,
) -> str | None:  # fmt: skip
    """Stop a command at a random moment, so often in a row, then run it to its end.

    Returns what went wrong, if anything.
    """
    with tempfile.TemporaryDirectory(prefix="campaign-") as name:
        out = Path(name)
        words = command.words(inputs, out)
        for _ in range(strikes):
            process = Running(words, command.program)
            # Anywhere in the run, and as often near its end, where most is written.
            time.sleep(chance.uniform(*chance.choice(((0.05, 1.0), (0.6, 1.1)))) * seconds)
            number = signal.Signals[how]
            process.strike(number, everybody=how == "SIGKILL" or command.together)
            code, text = process.end(120)
            # Python itself is still starting: then the signal has its usual effect.
            if code not in {STOPS[how], command.code, -int(number)}:
                return f"{how} ended with {code}: {text[-300:]}"
            if "Traceback" in text and "milepost" in text and code > 0:
                return f"{how}: {text[-300:]}"
        code, told_again, _ = _run(words, command.program)
        if code != command.code:
            return f"the run after {how} ended with {code}: {told_again[-300:]}"
        if command.digest(out) != wanted:
            return f"the run after {how} left something else"
    return None


def known_faults(work: Path) -> list[Fault]:
    """What earlier runs have found, whatever their seeds: one row for a fault and a command."""
    rows: dict[tuple[str, str], Fault] = {}
    for path in sorted(work.glob("fault-*.json")):
        found = Fault(**json.loads(path.read_text()))
        row = rows.setdefault((found.name, found.command), Fault(found.name, found.command))
        row.tried += found.tried
        row.survived += found.survived
        row.seconds += found.seconds
    return [rows[key] for key in sorted(rows)]


def run_faults(
    work: Path, seed: int, kills: int, only: Sequence[str] = (), one: str | None = None
) -> Iterator[Fault]:
    """Try every signal, or one, with every command; what is in the folder is not tried again."""
    inputs = work / "inputs"
    make_inputs(inputs, times=2)
    plan = {"SIGKILL": kills, "SIGTERM": max(1, kills // 5), "SIGHUP": max(1, kills // 10)}
    plan["SIGINT"] = max(1, kills // 10)
    known: dict[str, tuple[str, float]] = {}
    for how, count in plan.items():
        if one not in (None, how):
            continue
        for command in commands(inputs).values():
            if only and command.name not in only:
                continue
            record = work / f"fault-{command.name}-{how}-{seed}-{count}.json"
            if not record.exists():
                if command.name not in known:
                    known[command.name] = _undisturbed(command, inputs)
                fault = _strike_often(command, how, count, seed, inputs, *known[command.name])
                record.write_text(json.dumps(asdict(fault)))
            yield Fault(**json.loads(record.read_text()))


def _undisturbed(command: Command, inputs: Path) -> tuple[str, float]:
    """What a run leaves, and how long it takes."""
    with tempfile.TemporaryDirectory() as name:
        code, told, seconds = _run(command.words(inputs, Path(name)), command.program)
        if code != command.code:
            raise SystemExit(f"{command.name} fails undisturbed: {told}")
        return command.digest(Path(name)), seconds


def _strike_often(
    command: Command, how: str, count: int, seed: int, inputs: Path, wanted: str, seconds: float
) -> Fault:
    fault = Fault(how, command.name)
    begun = time.monotonic()
    while fault.tried < count:
        chance = random.Random(f"{command.name} {how} {seed} {fault.tried}")
        # What is killed may be killed again while it sets things right.
        strikes = min(chance.choice((1, 2, 3, 5)), count - fault.tried)
        problem = disturb(command, how, inputs, chance, seconds, wanted, strikes)
        if problem:
            print(f"{command.name} {fault.tried}: {problem}", file=sys.stderr, flush=True)
        fault.tried += strikes
        fault.survived += 0 if problem else strikes
    fault.seconds = time.monotonic() - begun
    return fault
