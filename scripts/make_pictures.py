"""Make the two charts that the README and the docs begin with: ``make pictures``.

Both are those of ``milepost demo``: the ratings of the simulated sample, and the champions by the
figures that come with the package.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PICTURES = ("ratings.svg", "champions.svg")


def main(output: Path) -> None:
    """Run the demo, and keep its pictures."""
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        demo = [sys.executable, "-m", "milepost", "demo", "--output", folder]
        subprocess.run(demo, check=True, stdout=subprocess.DEVNULL)
        for name in PICTURES:
            shutil.copyfile(Path(folder) / name, output / name)
            print(output / name)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images"))
