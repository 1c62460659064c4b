"""The exceptions a user can meet, each with the exit code of the command line.

Every message is one line that names the key (with its line where there is one), the value, the
limit and the remedy, for example::

    time.step (scenario.yaml:12:9): 2.0 ms exceeds the stability limit 1.24 ms; leave it out
"""

from __future__ import annotations


class SeismoError(Exception):
    """Base of everything seismo raises on purpose."""

    exit_code = 70


class ScenarioError(SeismoError):
    """The scenario cannot be run as written; holds every mistake found, one line each."""

    exit_code = 2

    def __init__(self, *messages: str) -> None:
        """Keep the messages apart, so that a caller can count and print them."""
        super().__init__("\n".join(messages))
        self.messages = messages


class ModelError(ScenarioError):
    """An earth model (file or part) is missing, malformed or implausible."""


class UnstableError(SeismoError):
    """The wavefield grew beyond bounds or became NaN."""

    exit_code = 3


class InsufficientMemoryError(SeismoError):
    """The run needs more memory than the machine has."""

    exit_code = 4


class StorageError(SeismoError):
    """Results could not be written."""

    exit_code = 75
