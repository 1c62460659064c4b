"""The exceptions a user can meet, each with the exit code of the command line.

Every message is a line that names the key (with its line, if any), the value, the
limit and the remedy, for example::

    time.step (scenario.yaml:12:9): 2.0 ms exceeds the stability limit 1.24 ms; leave it out
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

Result = TypeVar("Result")
KeyPath = tuple[str | int, ...]  # keys of the scenario, such as ("model", 0, "vp")
CHECKPOINTED = 85  # a run stopped at a checkpoint, with more to do


class PlacedMessage(str):
    """A message with the place in the scenario that it is about.

    Attributes:
        key: keys that lead there.
        line_column: line and column, from 1; None where the scenario is of no file.
    """

    key: KeyPath
    line_column: tuple[int, int] | None

    def __new__(
        cls, text: str, key: KeyPath, line_column: tuple[int, int] | None = None
    ) -> PlacedMessage:
        """Attach the place to the text."""
        message = super().__new__(cls, text)
        message.key = key
        message.line_column = line_column
        return message

    def __getnewargs__(self) -> tuple[str, KeyPath, tuple[int, int] | None]:  # type: ignore[override]
        """Return the arguments of copies: errors go from process to process."""
        return str(self), self.key, self.line_column


class SeismoError(Exception):
    """Base of everything seismo raises on purpose."""

    exit_code = 70
    tells_how_to_resume = False  # whether the message ends with the command to go on with

    def _render_traceback_(self) -> list[str]:
        """Return the text for IPython and Jupyter: the message, a line a mistake."""
        return f"{type(self).__name__}: {self}".split("\n")


class ScenarioError(SeismoError):
    """The scenario cannot be run as written; holds every mistake, a line each.

    Attributes:
        messages: of the mistakes.
        read: data of a faulty scenario, its mistakes and its folder; None elsewhere.
    """

    exit_code = 2
    read: tuple[Any, Any, Path] | None = None

    def __init__(self, *messages: str) -> None:
        """Keep the messages apart, so that a caller can count and print them."""
        super().__init__("\n".join(messages))
        self.messages = messages

    @staticmethod
    def of(errors: Iterable[ScenarioError]) -> ScenarioError:
        """Return an error with the messages of several, each once."""
        return ScenarioError(*dict.fromkeys(text for error in errors for text in error.messages))


class ScenarioWarning(UserWarning):
    """What `seismo check` warns of in a scenario, said by `seismo.run` as it begins."""


class ModelError(ScenarioError):
    """A file that the scenario names, or a part of its earth model, is missing or malformed.

    Attributes:
        problem: the fault, without the key.
        key: the keys of the scenario that lead to it, such as ("model", 0, "vp", "path"); empty
            where it has none.
        others: further errors of the model.
    """

    others: tuple[ModelError, ...] = ()

    def __init__(self, problem: str, *key: str | int) -> None:
        """Name the key in the message; the line is known to whoever has the scenario."""
        named = "".join(f"[{k}]" if isinstance(k, int) else f".{k}" for k in key)
        message = PlacedMessage(f"{named.removeprefix('.')}: {problem}", key)
        super().__init__(message if key else problem)
        self.problem = problem
        self.key = key

    def below(self, *key: str | int) -> ModelError:
        """Return the same error with these keys before its own."""
        return ModelError(self.problem, *key, *self.key)


def printable(text: object) -> str:
    """Return a text from outside for a message: unprintable characters become '?'."""
    return "".join(char if char.isprintable() else "?" for char in str(text))


def gathered(steps: Iterable[Callable[[], Result]]) -> list[Result]:
    """Return the results of independent steps.

    Raises:
        ScenarioError: with the mistakes of all of them.
    """
    results = []
    errors = list[ScenarioError]()
    for step in steps:
        try:
            results.append(step())
        except ScenarioError as error:
            errors.append(error)
    if not errors:
        return results
    first, *other_errors = errors
    if not other_errors:
        raise first
    model_errors = [error for error in other_errors if isinstance(error, ModelError)]
    if isinstance(first, ModelError) and len(model_errors) == len(other_errors):
        first.others += tuple(
            member_error for error in model_errors for member_error in (error, *error.others)
        )
        raise first
    raise ScenarioError.of(errors)


class DeviceError(SeismoError):
    """The machine that a run shall go to is not there, or cannot be used."""

    exit_code = 2


class UnstableError(SeismoError):
    """The wavefield grew beyond bounds or became NaN; it was sound after `good` steps."""

    exit_code = 3

    def __init__(self, message: str, good: int = 0) -> None:
        """Describe where it grew, and until when it had not."""
        super().__init__(message)
        self.good = good


class InsufficientMemoryError(SeismoError):
    """The run needs more memory than the machine has."""

    exit_code = 4


class StorageError(SeismoError):
    """Results could not be written."""

    exit_code = 75


class DiskSpaceError(StorageError):
    """The disk is so full that a run has to stop, while all can be kept."""

    def __init__(self, message: str, tells_how_to_resume: bool = False) -> None:
        """Take the message, and whether it tells how to resume."""
        super().__init__(message)
        self.tells_how_to_resume = tells_how_to_resume


class StoppedError(SeismoError):
    """A run was asked to stop, and did so at a checkpoint that it can go on from."""

    exit_code = CHECKPOINTED
    tells_how_to_resume = True
