"""The models of a history: each has its own options, and nobody else keeps a list of them."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields, replace
from typing import Any

import pytest
from tests.history.samples import simulated

import milepost
from milepost.api.histories import model_and_sweeping
from milepost.errors import InputError
from milepost.history import TTT, TTTD, Elo, Glicko2, Sweeping, TrueSkill, fit_history
from milepost.history.models import MODELS, make_model, options_of

GAMES = simulated(80, 6, 3)
EVERY_OPTION = sorted({name for model in MODELS.values() for name in options_of(model)})


@pytest.mark.parametrize("name", list(MODELS))
@pytest.mark.parametrize("option", EVERY_OPTION)
def test_the_library_refuses_what_the_command_refuses(name: str, option: str) -> None:
    """Whatever the value is, the default of another model too."""
    kind = MODELS[name]
    default = getattr(next(m for m in MODELS.values() if option in options_of(m))(), option)
    if option in options_of(kind):
        own = getattr(kind(), option)
        assert make_model(name, **{option: own}) == kind()
        assert model_and_sweeping(name, {option: own}) == (kind(), None)
        return
    with pytest.raises(TypeError):
        kind(**{option: default})
    said = f"the model {name} has no option {option}; its options are {', '.join(options_of(kind))}"
    for make in (lambda: make_model(name, **{option: default}),
                 lambda: model_and_sweeping(name, {option: default})):  # fmt: skip
        with pytest.raises(InputError) as refused:
            make()
        assert str(refused.value) == said


def test_options_are_checked_when_a_model_is_made() -> None:
    for wrong in ({"beta": -1.0}, {"draw": "some"}, {"newcomers": "x"}, {"mu": float("nan")}):
        with pytest.raises(InputError, match="expected"):
            TTT(**wrong)
    with pytest.raises(InputError, match="needs a seed"):
        TrueSkill(order="random")
    with pytest.raises(InputError, match="needs the stage converged"):
        TTTD(newcomers="learn", stage="filter")
    with pytest.raises(InputError, match="expected a number"):
        Elo(first_mover="learn")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expected a model such as"):
        fit_history(GAMES, "ttt")  # type: ignore[arg-type]


@pytest.mark.parametrize("model", [TTT(), TTTD(), TrueSkill(), Elo(), Glicko2()])
def test_a_history_keeps_its_model(model: Any) -> None:
    history = fit_history(GAMES, model)
    assert history.model == model
    assert history.model.name == model.name


def test_controls_are_no_options() -> None:
    model, sweeping = model_and_sweeping("ttt", {"tau": 50.0, "max_sweeps": 7})
    assert (model, sweeping) == (TTT(tau=50.0), Sweeping(max_sweeps=7))
    with pytest.raises(InputError, match="makes one pass: it has no max_sweeps"):
        model_and_sweeping("elo", {"max_sweeps": 7})
    assert not {control.name for control in fields(Sweeping)} & set(EVERY_OPTION)


def test_the_numbers_for_chess_are_the_base_of_what_is_told() -> None:
    model, _ = model_and_sweeping("ttt", {"tau": 50.0}, chess=True)
    assert model == replace(TTT.for_chess(), tau=50.0)
    assert TTT.for_chess().newcomers == TTTD.for_chess().newcomers == "learn"
    assert model_and_sweeping("elo", {}, chess=True) == (Elo(), None)


def test_the_names_of_the_docs_are_there() -> None:
    """`milepost.history.fit`, as the docs had it, was the module and not the function."""
    code = (
        "import milepost, sys\n"
        "assert callable(milepost.history.fit_history)\n"
        "assert callable(milepost.fit_history)\n"
        "import milepost.history.fit\n"
        "assert callable(milepost.history.fit_history)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert all(hasattr(milepost.history, name) for name in dir(milepost.history))


def test_a_model_is_made_without_the_rest() -> None:
    code = (
        "import sys, milepost as mp\n"
        "mp.TTT(beta=480.0); mp.history.models\n"
        "print(sorted({'numba', 'polars', 'numpy', 'scipy'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
