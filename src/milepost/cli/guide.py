"""What help is made of: who needs which command, what options are for, examples of each command."""

from __future__ import annotations

from typing import Any

SECTIONS: dict[str, tuple[str, ...]] = {
    "Start here": ("demo", "serve"),
    "Players and coaches": ("review", "rate", "norm"),
    "Arbiters": ("check", "likelihood"),
    "Journalists and researchers": (
        "history", "rank", "compare", "predict", "career", "search", "plot", "inflation",
        "reproduce",
    ),
    "Data scientists": ("fit", "fit-line", "fit-row", "models", "follow", "spreads", "tune"),
    "Games and results in": ("games", "results", "turns", "players", "select"),
    "Engines and calibrations": ("analyse", "store", "calibrate", "calibrations"),
    "A bot that plays like a human": ("play", "guess", "match", "book", "personify"),
}  # fmt: skip
"""The commands by kind of user, as `milepost --help` lists them."""

PURPOSES: dict[str, frozenset[str]] = {
    "Which games and players": frozenset((
        "--player", "--from", "--to", "--skip-fast", "--map", "--keep-names", "--aliases",
        "--keep-duplicates", "--moves", "--exclude", "--only", "--event-kinds", "--elo-within",
        "--mileposts", "--periods", "--max-games", "--known-games", "--after-round", "--at",
        "--within", "--min-games", "--min-turns", "--min-decisions", "--require-moves",
        "--whole-games", "--whole-store", "--positions",
    )),
    "Engine and evaluations": frozenset((
        "--store", "--setup", "--plan", "--depth", "--width", "--engine", "--engine-option",
        "--jury", "--every-turn", "--book-moves", "--timeout", "--analyse",
        "--opponents", "--calibration", "--force", "--bridge",
    )),
    "Output": frozenset((
        "--output", "--format", "--report", "--plot", "--errors", "--top", "--save", "--sites",
        "--title", "--gates", "--turns-out", "--duplicates", "--names", "--sort", "--reply",
        "--replace", "--scale", "--level", "--quality", "--wins", "--margins",
    )),
    "Running": frozenset((
        "--workers", "--cluster", "--strict", "--seed", "--again", "--quiet", "--verbose", "--help",
    )),
}  # fmt: skip
"""Headings for options in a long help; what is named nowhere is the command's own."""

_STREAMED = (
    "Games are read one after the other: it does not grow with the files, but with the longest "
    "stretch without a game, about 40 bytes for each of its bytes."
)
_TURNS = (
    "All turns are held, about 6 kB each, and 30 kB more for each of at most 20,000 that are "
    "worked on at once."
)
_DECISIONS = "All decisions are held, about 40 kB for a turn of chess with values at ten depths."
_SAVED = "The saved history is held, about 420 bytes for each player and period."
_STORE = "At most all evaluations of the store are held, several times their size on disk."

MEMORY: dict[str, str] = {
    "games": _STREAMED,
    "results": _STREAMED + " Of every game a digest is kept, to find duplicates.",
    "turns": _STREAMED,
    "players": _STREAMED + " The names are held.",
    "select": "The tags of all games are held.",
    "analyse": "The positions that are still to do are held; evaluations go to the store as "
    "they come.",
    "spreads": "All turns are held, about 6 kB each.",
    "rate": _TURNS,
    "check": _DECISIONS,
    "review": _DECISIONS,
    "likelihood": _DECISIONS,
    "calibrate": _DECISIONS,
    "fit": _DECISIONS,
    "fit-line": _DECISIONS,
    "models": _DECISIONS,
    "personify": _DECISIONS,
    "fit-row": "One row is held at a time.",
    "follow": "One decision is held at a time, and the posteriors.",
    "history": "All results are held, about 240 bytes a game; with --cluster each machine holds "
    "those of its own slices.",
    "tune": "All results are held, about 240 bytes a game.",
    "inflation": _SAVED,
    "rank": _SAVED,
    "predict": _SAVED,
    "compare": _SAVED,
    "career": _SAVED,
    "search": _SAVED,
    "norm": _SAVED,
    "plot": _SAVED,
    "store info": _STORE,
    "store verify": _STORE,
    "store compact": _STORE,
    "store merge": _STORE,
    "store endgames": _STORE,
    "store export": _STORE,
    "store import": _STORE,
    "serve": "Each set of games is worked on in a process of its own, which may take as much as "
    "the limits of the workbench allow; the server itself keeps no games.",
    "reproduce": "All turns of an experiment are held, about 6 kB each.",
    "book": "All positions of the book are held.",
    "match": "The games that were played are held.",
}
"""What a command holds in memory; those that take no input of a size of their own are not here."""
NO_INPUT = ("calibrations", "demo", "guess", "play")

Examples = tuple[tuple[str, str], ...]

EXAMPLES: dict[str, Examples] = {
    "": (
        ("milepost demo", "see what it does, on games that come with it"),
        ("milepost review my.pgn --player Ada", "which of my moves cost most?"),
        ("milepost rate --help", "options and examples of one command (-h is short for it)"),
    ),
    "demo": (("milepost demo -o demo", "rate a sample and draw its charts"),),
    "serve": (
        ("milepost serve", "open the workbench in your browser"),
        ("milepost serve --history chess", "show a saved history as well"),
    ),
    "review": (
        ("milepost review my.pgn --player Ada", "write review.html about Ada's games"),
        (
            "milepost review my.pgn --player Ada --plan bullet --top 20",
            "a faster search, and twenty costly moves",
        ),
    ),
    "rate": (
        ("milepost rate games.pgn --store evals --analyse", "analyse, then rate every player"),
        (
            "milepost rate games.pgn --store evals --player Ada --by phase",
            "one player by phase of the game",
        ),
        ("milepost rate games.pgn --store evals --report page.html", "a page with charts"),
    ),
    "norm": (
        (
            "milepost norm chess Ada Bea=2510 Cyd=2480 Dan=2455 --title IM",
            "Ada's chance of an IM norm against three opponents of these ratings",
        ),
    ),
    "check": (
        ("milepost check event.pgn --store evals", "screen everybody who played"),
        (
            "milepost check event.pgn --store evals --player Ada --full --report ada.pdf",
            "test one performance in full, as a page to print",
        ),
    ),
    "likelihood": (
        (
            "milepost likelihood games.pgn --store evals --player Ada --elo 2200,2800",
            "do Ada's moves fit 2200 or 2800 better?",
        ),
    ),
    "history": (
        ("milepost history results.parquet --save chess", "fit, and keep for rank and plot"),
        (
            "milepost history games.pgn -o curves.csv --from 1970 --to 1990",
            "straight from PGN, some years only, as a table",
        ),
        (
            "milepost history r.csv --save h --map time=day,player_1=a,player_2=b,score=s",
            "any table of results",
        ),
        (
            "milepost history r.parquet --save h --model ttt-d --set newcomers=learn",
            "another model, with an option of its own",
        ),
        (
            "milepost history r.parquet -o curves.parquet -j 8 --cluster auto",
            "eight slices of time on a Ray cluster",
        ),
    ),
    "rank": (
        ("milepost rank chess", "who is best now?"),
        ("milepost rank chess --at 1972-07 --top 10", "the top ten of July 1972"),
    ),
    "compare": (
        ("milepost compare chess fischer@1972 kasparov@1991", "who was stronger, how surely?"),
    ),
    "predict": (
        ("milepost predict chess kasparov karpov --at 1985", "win, draw or loss?"),
    ),
    "career": (("milepost career chess tal", "years, games, peak and best wins"),),
    "search": (("milepost search chess kasparoff", "find a name, even if misspelt"),),
    "plot": (
        ("milepost plot chess kasparov karpov -o two.svg", "two careers in one chart"),
        ("milepost plot chess fischer --level 0.95 --from 1957 --to 1973", "95 % bands"),
    ),
    "inflation": (
        ("milepost inflation joint --group top:100 --plot level.svg", "the top 100 over time"),
    ),
    "reproduce": (
        ("milepost reproduce --list", "the experiments there are"),
        ("milepost reproduce 2007 --data games -o reproduced", "all claims of one paper"),
    ),
    "fit": (
        (
            "milepost fit visits.csv --map decision=visit,value=worth,chosen=taken",
            "any table with one row per option",
        ),
        ("milepost fit games.pgn --store evals --by player", "chess: one fit per player"),
        (
            "milepost fit games.pgn --store evals --set curve=secha --covariance bootstrap",
            "another curve, intervals by bootstrap",
        ),
    ),
    "fit-line": (
        ("milepost fit-line set.parquet --store evals --by milepost -o line.csv",
         "the table of the 2011 paper"),
    ),
    "fit-row": (
        ("milepost fit-row event.pgn -o rows.csv", "analyse a file, add its s and c to rows.csv"),
    ),
    "models": (
        ("milepost models games.pgn --store evals --folds 5", "which model predicts best?"),
    ),
    "follow": (
        ("milepost follow decisions.ndjson", "a line out for every decision in"),
        ("milepost follow - --state state.json", "read a stream, and resume after a stop"),
    ),
    "spreads": (
        ("milepost spreads games.pgn --store evals -o decisions.parquet",
         "what every option was worth"),
    ),
    "tune": (
        (
            "milepost tune results.parquet --vary beta=200:600:5 --vary tau=20,40,60",
            "which beta and tau explain the results best?",
        ),
    ),
    "games": (("milepost games *.pgn -o games.parquet", "PGN to a table, moves included"),),
    "results": (
        ("milepost results *.pgn.zst -o results.parquet", "who beat whom, fast"),
        (
            "milepost results r.csv -o out.csv --map time=day,player_1=a,player_2=b,score=s",
            "from a table of your own",
        ),
    ),
    "turns": (("milepost turns games.pgn -o turns.parquet", "every decision, with its FEN"),),
    "players": (
        ("milepost players *.pgn --top 50", "the fifty with most games, and likely duplicates"),
    ),
    "select": (
        (
            "milepost select games.parquet -o set.parquet --elo 2200 --elo-within 10",
            "games of two players near 2200",
        ),
        (
            "milepost select g.parquet -o m.parquet --mileposts 2000:2700:100 --from 2011",
            "one set for each hundred points",
        ),
    ),
    "analyse": (
        ("milepost analyse games.pgn --store evals", "evaluate every turn; a second run resumes"),
        (
            "milepost analyse games.pgn --store evals --plan bullet --player Ada",
            "fast, and Ada's moves only",
        ),
    ),
    "calibrate": (
        ("milepost calibrate rated.pgn --store evals -o mine.json", "from games of rated players"),
        (
            "milepost calibrate --bridge stockfish15.1-quick --engine ./mine -o mine.json",
            "for another engine, without games",
        ),
    ),
    "calibrations": (("milepost calibrations", "what comes with the package"),),
    "store": (("milepost store info evals", "what is in a store"),),
    "store info": (("milepost store info evals", "engines, plans and how much of each"),),
    "store verify": (("milepost store verify evals", "is every file as it was written?"),),
    "store compact": (("milepost store compact evals", "one file instead of many"),),
    "store merge": (
        ("milepost store merge all office laptop", "put two stores into one; all is made if new"),
    ),
    "store endgames": (
        ("milepost store endgames evals --syzygy tables", "the tables judge small endgames"),
    ),
    "store export": (("milepost store export evals -o evals.csv", "evaluations as a table"),),
    "store import": (
        ("milepost store import evals lichess.pgn --kind eval", "take over %eval comments"),
    ),
    "play": (
        ("milepost play --elo 1600", "the command to enter in your chess program"),
        ("milepost play --agent me.agent.json --think-time human", "play like one person"),
    ),
    "guess": (
        ("milepost guess startpos --elo 1500", "what do 1500s play on move one?"),
    ),
    "match": (
        (
            "milepost match '--elo 1600' '--elo 1800' --games 10 -o games.pgn",
            "two bots, ten games",
        ),
    ),
    "book": (("milepost book games.pgn -o club.bin --moves 10", "an opening book of your games"),),
    "personify": (
        ("milepost personify my.pgn --player Ada -o me.agent.json", "a bot that plays like Ada"),
    ),
}  # fmt: skip
"""Examples by command, each with what it does; a test asserts that each can be parsed."""


def name_of(context: Any) -> str:
    """Return a command's name with those of the groups above it: ``store merge``; the root's is ''.

    Parameters
    ----------
    context
        The context of the command that is run or explained.
    """
    names: list[str] = []
    while context.parent is not None:
        names.insert(0, context.info_name or "")
        context = context.parent
    return " ".join(names)


def sections(group: str, names: list[str]) -> list[tuple[str, list[str]]]:
    """Return headings with the commands under them.

    Parameters
    ----------
    group
        Whose commands: '' for all, or a group within.
    names
        The commands that there are.
    """
    if group:
        return [("Commands", names)]
    known = {name for under in SECTIONS.values() for name in under}
    rest = [name for name in names if name not in known]
    found = [
        (heading, [name for name in under if name in names]) for heading, under in SECTIONS.items()
    ]
    return [(heading, under) for heading, under in [*found, ("Others", rest)] if under]
