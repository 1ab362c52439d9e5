"""Skill of doctors, from their choices among treatments: Milepost without chess.

Simulated doctors of known sensitivity see patients; for each patient every treatment has a known
utility (in quality-adjusted months), and the doctor chooses one. The sensitivity of each doctor is
then recovered from the choices alone, with its interval, and set beside the truth. Months are no
pawns: they are taken as they are, without a cap. At the end the last doctor is followed live.

Run it with ``python examples/doctors.py [FOLDER]``; it writes ``decisions.csv`` (one row per
option), which the command line takes as well::

    milepost fit decisions.csv --map decision=visit,value=months,chosen=chosen,group=day \
        --by doctor --method likelihood --set ratio=shares --set c=1 --outside exclude
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl

import milepost as mp

DOCTORS = {"Dr Ash": 0.4, "Dr Birch": 0.8, "Dr Cedar": 1.6, "Dr Dogwood": 3.2}
"""True sensitivity, in months: whoever has a smaller one tells closer treatments apart."""
PATIENTS = 1_500
A_DAY = 12


def simulate(seed: int = 2011) -> pl.DataFrame:
    """Return the decisions of all doctors: one row per option."""
    rng = np.random.default_rng(seed)
    frames = []
    for doctor, s in DOCTORS.items():
        counts = rng.integers(2, 7, size=PATIENTS)
        values = [rng.gamma(2.0, 2.0, size=count) for count in counts]
        spreads = mp.Spreads.from_lists(values, [0] * PATIENTS)
        agent = mp.Agent(s=s, c=1.0, ratio="shares", difference="raw", cap=None, tie_shift=0.0)
        chosen = agent.simulate(spreads, rng).chosen
        # The library keeps options best first; the table lists them as the doctor saw them.
        for visit, (options, pick) in enumerate(zip(values, chosen, strict=True)):
            place = int(np.argsort(-options, kind="stable")[pick])
            frames.append(
                pl.DataFrame(
                    {
                        "doctor": doctor,
                        "visit": f"{doctor} {visit}",
                        "day": f"{doctor} {visit // A_DAY}",
                        "treatment": [f"T{number}" for number in range(len(options))],
                        "months": options,
                        "chosen": [number == place for number in range(len(options))],
                    }
                )
            )
    return pl.concat(frames)


def main() -> None:
    """Simulate, recover, show."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    folder.mkdir(parents=True, exist_ok=True)
    decisions = simulate()
    decisions.write_csv(folder / "decisions.csv")
    fits = mp.fit_agents(
        decisions,
        "doctor",
        mp.AgentModel(ratio="shares", c=1.0),
        method="likelihood",
        fields={"decision": "visit", "value": "months", "group": "day"},
    )
    print(f"{'doctor':12}{'patients':>9}{'true s':>8}{'fitted':>8}   95 % interval")
    for row in fits.table.iter_rows(named=True):
        true = DOCTORS[row["doctor"]]
        inside = "covers" if row["s_low"] <= true <= row["s_high"] else "misses"
        print(
            f"{row['doctor']:12}{row['n']:9}{true:8.2f}{row['s']:8.2f}   "
            f"{row['s_low']:.2f} to {row['s_high']:.2f}, {inside} the truth"
        )
    visits = decisions.filter(doctor="Dr Dogwood").group_by("visit", maintain_order=True)
    live = visits.agg(pl.col("months").alias("values"), pl.col("chosen").arg_true().first())
    records = live.with_columns(chooser=pl.lit("Dr Dogwood")).iter_rows(named=True)
    for standing in mp.follow(records, model=mp.ReferenceModel(K=1.0)):
        if standing.decisions in {10, 100, 1_000}:
            print(f"live: {standing}")
    print(f"decisions: {folder / 'decisions.csv'}")


if __name__ == "__main__":
    main()
