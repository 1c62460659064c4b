"""The commands of an SW4 input file: a name and options, one command a line.

    source x=15000 y=15000 z=2000 mxy=1e18 t0=0.36 freq=16.6667 type=Gaussian   # a comment

Options are written key=value, without blanks. SW4 takes some keys in capitals, too (Mxx, Qs); here
all are compared in small letters.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from seismo.errors import ScenarioError, printable
from seismo.formats.reading.text import shown_word

_ALIASES = {"r": "rho", "topodepth": "depth", "amp": "f0"}


@dataclass(frozen=True)
class InputCommand:
    """A command: where it stands, as file:line, its text, its name and its options."""

    where: str
    text: str
    name: str
    options: dict[str, str]

    @property
    def label(self) -> str:
        """Where it stands and how it begins, for messages."""
        return f"{self.where}: {_shortened(self.text)}"

    def label_of(self, key: str) -> str:
        """Where an option stands, for messages."""
        return f"{self.where}: {self.name} {key}={_shortened(self.options[key])}"

    def number(self, key: str, default: float | None = None) -> float:
        """Return the number of an option.

        Raises:
            ScenarioError: it is no finite number, or missing and without a default.
        """
        if key not in self.options:
            if default is None:
                raise ScenarioError(f"{self.where}: {self.name}: missing {key}=")
            return default
        text = self.options[key]
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            shown = shown_word(text, of_table=True)
            raise ScenarioError(
                f"{self.where}: {self.name} {key}={shown}: is no number; write {key}= and a number"
            )
        return value

    def positive(self, key: str, default: float | None = None) -> float:
        """Return a number above 0.

        Raises:
            ScenarioError: as `number` does, or it is not above 0.
        """
        value = self.number(key, default)
        if value <= 0.0:
            raise ScenarioError(
                f"{self.where}: {self.name} {key}={value:g}: has to be above 0; mend the input"
            )
        return value

    def has(self, *keys: str) -> bool:
        """Whether any of some options is given."""
        return any(key in self.options for key in keys)

    def beyond(self, known: Iterable[str]) -> list[str]:
        """Return the options that are none of some."""
        return [key for key in self.options if key not in set(known)]


def commands_of(path: Path, lines: list[tuple[int, str]]) -> list[InputCommand]:
    """Return the commands of the numbered lines of a file, in its order."""
    return [
        _command(f"{path}:{number}", line) for number, line in lines if not line.startswith("%")
    ]


def _command(where: str, line: str) -> InputCommand:
    words = line.split()
    pairs = (word.partition("=") for word in words[1:])
    options = {_ALIASES.get(key.lower(), key.lower()): text for key, _, text in pairs}
    return InputCommand(where, line, words[0], options)


def _shortened(text: str) -> str:
    words = printable(" ".join(text.split()))
    return words if len(words) <= 60 else f"{words[:57]}..."
