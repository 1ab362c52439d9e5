"""What runs on the machines of a cluster: one engine each, the same as the driver's or none."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from milepost import __version__
from milepost.analysis.engine.setup import find_engine, make_setup
from milepost.analysis.engine.uci import UciEngine
from milepost.analysis.plans import Plan
from milepost.analysis.run.threads import Job, JobRunner, Outcome, UnfitError
from milepost.errors import EngineError


class _ForeignEngineError(UnfitError):
    """Not an `EngineError`: starting the engine anew does not help."""


class _CheckedRunner(JobRunner):
    """A runner that looks at every engine that it starts, the restarted ones too."""

    def __init__(self, program: str | Path, plan: Plan, options: dict[str, str], digest: str):
        super().__init__(program, plan, options)
        self._digest = digest

    def _started(self) -> UciEngine:
        fresh = self._engine is None
        engine = super()._started()
        if fresh:
            setup = make_setup(engine.name, engine.declared, self._options, self._plan.text)
            if setup.digest != self._digest:
                self.close()
                raise _ForeignEngineError(
                    f"{self._program} is another engine than the one here: {setup.as_json()}"
                )
        return engine

    def check(self) -> None:
        """Start the engine and look at it."""
        self._started()


@dataclass(frozen=True)
class Refusal:
    """Why a machine cannot take part."""

    node: str
    reason: str


class EngineActor:
    """What runs on the machines of the cluster."""

    def __init__(
        self,
        program: str | None,
        plan: Plan,
        options: dict[str, str],
        digest: str,
        version: str,
    ):
        self._program = program
        self._arguments = (plan, options, digest)
        self._version = version
        self._runner: _CheckedRunner | None = None

    def check(self) -> Refusal | None:
        """Start the engine; return what is wrong with it, if anything is."""
        try:
            if __version__ != self._version:
                return self._refuse(f"milepost {__version__} there, {self._version} here")
            self._made().check()
        except (EngineError, _ForeignEngineError) as error:
            return self._refuse(str(error))
        return None

    def run(self, job: Job) -> tuple[Outcome, int] | Refusal:
        """Do a job; with the outcome goes the number of engines that had to be restarted."""
        if self._runner is None and (refusal := self.check()):
            return refusal
        runner = self._made()
        before = runner.restarts
        try:
            outcome = runner.run(job)
        except _ForeignEngineError as error:
            return self._refuse(str(error))
        return outcome, runner.restarts - before

    def abort(self) -> None:
        """End the engine, in the middle of a search if need be."""
        if self._runner is not None:
            self._runner.abort()

    def _made(self) -> _CheckedRunner:
        if self._runner is None:
            self._runner = _CheckedRunner(find_engine(self._program), *self._arguments)
        return self._runner

    @staticmethod
    def _refuse(reason: str) -> Refusal:
        import ray

        module: ModuleType = ray
        return Refusal(module.util.get_node_ip_address(), reason)
