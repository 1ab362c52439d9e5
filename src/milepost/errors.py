"""Every exception that Milepost raises on purpose.

::

    MilepostError
    ├── InputError (also a ValueError)      an input is missing, or is not what it should be
    │   ├── TableError                      a table lacks columns, or holds the wrong types
    │   ├── NotAnalysedError                no turn of the games is in the evaluation store
    │   ├── NoCalibrationError              no calibration is known for the set-up of evaluations
    │   ├── SeveralSetupsError              evaluations of several set-ups, and none is named
    │   └── TooFewGamesError                fewer games than a fit asks for
    ├── OutputError (also an OSError)       a result could not be written
    ├── WorkerError (also a RuntimeError)   a worker process died or could not be started
    └── EngineError (also a RuntimeError)   an engine was not found, or does not do what it should
        ├── EngineDiedError                 its process ended
        ├── EngineTimeoutError              it did not answer in time
        │   └── EngineSilentError           it printed nothing at all when it was to search
        └── EngineAnswerError               it answered something that makes no sense

    MilepostWarning (a UserWarning)         a caveat that the caller should see
    ├── MissingEvaluationsWarning           some turns are not in the evaluation store
    └── DoubtfulDecisionsWarning            a table of decisions may not be what it should be

One bad game is never an exception: it is collected in the errors table and the rest goes on.
Errors become exit codes in one place, `milepost.cli.app.main`.
"""

_LONGEST = 400


class MilepostError(Exception):
    """Base of all errors that Milepost raises on purpose."""


class InputError(MilepostError, ValueError):
    """An input is missing, cannot be read, or is not what it should be."""


class TableError(InputError):
    """A table lacks columns that a stage needs, or holds them in a wrong type.

    Names and values of a table may hold anything: the message is made one line of bounded length.
    """

    def __init__(self, message: str):
        text = " ".join("".join(c if c.isprintable() else " " for c in message).split())
        super().__init__(text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ...")


class NotAnalysedError(InputError):
    """No turn of the games is in the evaluation store."""


class NoCalibrationError(InputError):
    """No calibration is known for the engine set-up of some evaluations."""


class SeveralSetupsError(InputError):
    """There are evaluations of several engine set-ups, and nobody has said which to read."""


class TooFewGamesError(InputError):
    """There are fewer games than a fit asks for."""


class OutputError(MilepostError, OSError):
    """A result could not be written; nothing was left half-written under its name."""


class WorkerError(MilepostError, RuntimeError):
    """A worker process died or could not be started."""


class EngineError(MilepostError, RuntimeError):
    """An engine was not found, or does not do what a UCI engine should."""


class EngineDiedError(EngineError):
    """The engine's process ended."""


class EngineTimeoutError(EngineError):
    """The engine did not answer in time."""


class EngineSilentError(EngineTimeoutError):
    """The engine printed nothing at all when it was to search."""


class EngineAnswerError(EngineError):
    """The engine answered something that makes no sense."""


class MilepostWarning(UserWarning):
    """A caveat that the caller should see."""


class MissingEvaluationsWarning(MilepostWarning):
    """Some turns are not in the evaluation store, so they are not among the decisions."""


class DoubtfulDecisionsWarning(MilepostWarning):
    """A table of decisions lacks choices, or its values are not in order."""
