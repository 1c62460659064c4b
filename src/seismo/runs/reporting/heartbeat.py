"""The sign of life of a run: a small file in its folder, for `seismo status`.

    quickstart.h5.run/status.json    how far the run is, and when that was written

A thread writes it every few seconds, so that a slow disk never delays the time loop, which only
leaves its latest `Progress` here. What is half-written is never seen: the file is renamed when it
is complete, and carries its checksum. A run that ends and leaves a checkpoint leaves the file too,
with the reason; that of a killed run goes on to say "running", which the lock refutes.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from seismo.errors import SeismoError, StoppedError
from seismo.output.run_directory.checkpoint import checkpoint_files
from seismo.output.run_directory.lock import process_name
from seismo.output.run_directory.sealed_json import read_sealed, sealed
from seismo.runs.reporting.progress import (
    Progress,
    Reporter,
    WavefieldPeak,
)

NAME = "status.json"
EVERY = 2.0  # s between two signs of life
_REMARKS = ("device", "caution", "warning", "profile", "checkpoint")  # that do not say how far
_FORMAT = {"format": "seismo status", "version": 1}
_NUMBER = (int, float)
_TYPES = {
    "state": str, "message": str, "tells_how_to_resume": bool, "updated": _NUMBER,
    "progress": dict, "pid": int, "host": str, "job": str, "since": str,
}  # fmt: skip
_FACTS = {"duration": _NUMBER, "device": str}
STATES = ("running", "stopped", "failed", "interrupted")
_MOST = 1 << 20  # bytes
_LARGEST = 2**63
_SHOWN = 40  # characters of a value that is wrong


class Heartbeat:
    """Pass on the progress of a run, and keep its latest on disk; use as a context manager."""

    def __init__(self, folder: Path, facts: Mapping[str, Any], report: Reporter) -> None:
        """Prepare the file.

        Args:
            folder: the run directory, which is there and locked.
            facts: what does not change during the run, as JSON holds it.
            report: told of the progress, too.
        """
        self._folder = folder
        self._report = report
        self._facts = {**_FORMAT, **process_name(), **facts}
        self._progress = Progress("device")
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def __enter__(self) -> Heartbeat:
        """Start to write."""
        self._thread.start()
        return self

    def __call__(self, progress: Progress) -> None:
        """Keep the progress for the next sign of life, and pass it on."""
        if progress.phase not in _REMARKS:
            self._progress = progress
        elif progress.phase == "checkpoint" and progress.time > 0.0:  # in the midst of the steps
            self._progress = replace(
                self._progress, phase="step", step=progress.step, steps=progress.steps,
                time=progress.time,
            )  # fmt: skip
        self._report(progress)

    def __exit__(self, kind: type[BaseException] | None, error: object, _: object) -> None:
        """Write how the run ended, or remove the file where nothing is left to go on from."""
        self._over.set()
        self._thread.join()
        if kind is not None and checkpoint_files(self._folder):
            tells = isinstance(error, SeismoError) and error.tells_how_to_resume
            self._write(_state_after(error), " ".join(str(error).split()), tells)
        else:
            for name in (NAME, _new(NAME)):
                with contextlib.suppress(OSError):
                    (self._folder / name).unlink()

    def _beat(self) -> None:
        self._write("running")
        while not self._over.wait(EVERY):
            self._write("running")

    def _write(self, state: str, message: str = "", tells_how_to_resume: bool = False) -> None:
        """Replace the file; a full disk costs a sign of life, not the run."""
        latest = self._progress
        progress = {**vars(latest), "health": dict(latest.health)}
        progress["peak"] = None if latest.peak is None else asdict(latest.peak)
        text = sealed(
            self._facts
            | {
                "state": state,
                "message": message,
                "tells_how_to_resume": tells_how_to_resume,
                "updated": time.time(),
                "progress": progress,
            }
        )
        new = self._folder / _new(NAME)
        with contextlib.suppress(OSError):
            new.unlink(missing_ok=True)  # what a dead run left; a link is not followed
            with new.open("x", encoding="utf-8") as file:
                file.write(text)
            new.replace(self._folder / NAME)


def read_heartbeat(folder: Path) -> dict[str, Any]:
    """Return the latest sign of life in a run directory, whose values are of the right types.

    Raises:
        OSError: there is none.
        ValueError: it is damaged, or of another version.
    """
    beat = read_sealed(folder / NAME, _MOST)
    if {key: beat.get(key) for key in _FORMAT} != _FORMAT:
        raise ValueError("it is of another version of seismo")
    _refuse_types(beat, _TYPES | {name: kind for name, kind in _FACTS.items() if name in beat})
    if beat["state"] not in STATES:
        raise ValueError(f"its state is {beat['state']!r:.{_SHOWN}}")
    return beat


def progress_of(beat: Mapping[str, Any]) -> Progress:
    """Return the progress that a sign of life tells.

    Raises:
        ValueError: it is not one.
    """
    numbers = {f.name: _NUMBER for f in fields(Progress) if f.type == "float"}
    counts = {f.name: int for f in fields(Progress) if f.type == "int"}
    entries = beat["progress"]
    _refuse_types(entries, numbers | counts | {"phase": str, "shots": str, "health": dict})
    _refuse_types(entries["health"], dict.fromkeys(entries["health"], _NUMBER))
    peak = entries.get("peak")
    if peak is not None:  # NaN and inf are what broken waves have
        wave_numbers = dict.fromkeys(("latest", "largest"), _NUMBER)
        _refuse_types(peak, {"field": str, "unit": str} | wave_numbers, any_float=True)
    try:
        return Progress(**entries | {"peak": None if peak is None else WavefieldPeak(**peak)})
    except TypeError as error:
        raise ValueError("its progress has entries of another version") from error


def _refuse_types(entries: Any, types: Mapping[str, Any], any_float: bool = False) -> None:
    """Raise ValueError where entries are of other types, or numbers are beyond what is counted."""
    if not isinstance(entries, dict):
        raise ValueError(f"it has {entries!r:.{_SHOWN}} where entries were expected")
    for name, kind in types.items():
        value = entries.get(name)
        is_number = isinstance(value, int) or (isinstance(value, float) and not any_float)
        if not isinstance(value, kind) or (is_number and not abs(value) < _LARGEST):
            raise ValueError(f"its {name} is {value!r:.{_SHOWN}}")


def _new(name: str) -> str:
    return f"{name}.new"


def _state_after(error: object) -> str:
    """Return the state of a run that an exception ended; SIGTERM before the first step is one."""
    if isinstance(error, StoppedError):
        return "stopped"
    if isinstance(error, Exception):
        return "failed"
    return "interrupted" if isinstance(error, KeyboardInterrupt) else "stopped"
