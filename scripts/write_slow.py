"""Write tests/slow.txt: the tests that `make check` leaves out.

    python scripts/write_slow.py TIMES

`TIMES` is the folder that ``pytest --times TIMES`` has filled. Tests are taken from the fastest on
until their processor time has filled the budget; the others are slow. Processor time, not time on
the wall: it is about the same on a busy machine.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

BUDGET_SECONDS = 75.0
"""For all fast tests together; two cores share it."""
AT_ONCE_SECONDS = 0.15
"""What takes less is never slow: there is nothing to gain."""
SLOW = Path(__file__).resolve().parents[1] / "tests" / "slow.txt"


def slow_tests(seconds: dict[str, float], budget: float = BUDGET_SECONDS) -> list[str]:
    """Return the tests that do not fit into the budget, in the order of their names."""
    slow = []
    for name, each in sorted(seconds.items(), key=lambda item: (item[1], item[0])):
        budget -= each
        if budget < 0 and each > AT_ONCE_SECONDS:
            slow.append(name)
    return sorted(slow)


def read_times(folder: Path) -> dict[str, float]:
    """Return the processor time of every test, all its parameters together."""
    seconds: dict[str, float] = defaultdict(float)
    for path in sorted(folder.glob("*.tsv")):
        for line in path.read_text(encoding="utf-8").splitlines():
            time, name = line.split("\t")
            seconds[name.split("[")[0]] += float(time)
    return dict(seconds)


def main() -> None:
    """Write the list, and say what was decided."""
    seconds = read_times(Path(sys.argv[1]))
    slow = slow_tests(seconds)
    SLOW.write_text("\n".join(slow) + "\n", encoding="utf-8")
    fast = sum(each for name, each in seconds.items() if name not in set(slow))
    print(f"{len(seconds) - len(slow)} fast tests, {fast:.0f} s; {len(slow)} slow ones -> {SLOW}")
    for name, each in sorted(seconds.items(), key=lambda item: -item[1])[:10]:
        print(f"{each:7.1f} s  {name}")


if __name__ == "__main__":
    main()
