"""The state of a run for `seismo status` and `seismo watch`, and the sign of life that tells it.

    quickstart.h5.run/
        lock          held as long as the process lives: no stale file passes for a run
        status.json   the latest sign of life: step, speed, peaks; how the run ended
        checkpoint-*  where it can go on from

A thread of the run writes the sign of life every few seconds, so that a slow disk never delays the
time loop, which only leaves its latest `Progress` here. A half-written file is never seen: it is
renamed when it is complete, and carries its checksum. A run that ends and leaves a checkpoint
leaves the file too, with the reason; that of a killed run goes on to say "running", which the lock
refutes. The state is read from all three, of which each may be missing, half-written or of a dead
run; nothing is changed.
"""

from __future__ import annotations

import contextlib
import shlex
import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from glob import escape
from pathlib import Path
from typing import Any

from seismo.errors import CHECKPOINTED, ScenarioError, SeismoError, StoppedError, UnstableError
from seismo.formats.reading import similar_name
from seismo.output.results import open_any
from seismo.output.results_file import COMPLETE
from seismo.output.run_directory import read_sealed, sealed
from seismo.output.run_directory.checkpoint import can_resume, checkpoint_files
from seismo.output.run_directory.lock import is_held, lock_holder, process_name
from seismo.output.run_directory.partial_files import UNFINISHED, run_folder
from seismo.runs.progress import (
    Progress,
    Reporter,
    WavefieldPeak,
    clock_time,
    closing_line,
    facts,
)
from seismo.scenario import load
from seismo.scenario.units import with_unit

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
            facts: of the run, which do not change, as JSON holds them.
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
        if kind is not None and can_resume(self._folder):
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
            new.unlink(missing_ok=True)  # of a dead run; a link is not followed
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
        ValueError: it tells none.
    """
    numbers = {f.name: _NUMBER for f in fields(Progress) if f.type == "float"}
    counts = {f.name: int for f in fields(Progress) if f.type == "int"}
    entries = beat["progress"]
    _refuse_types(entries, numbers | counts | {"phase": str, "shots": str, "health": dict})
    _refuse_types(entries["health"], dict.fromkeys(entries["health"], _NUMBER))
    peak = entries.get("peak")
    if peak is not None:  # broken waves have NaN and inf
        wave_numbers = dict.fromkeys(("latest", "largest"), _NUMBER)
        _refuse_types(peak, {"field": str, "unit": str} | wave_numbers, any_float=True)
    try:
        return Progress(**entries | {"peak": None if peak is None else WavefieldPeak(**peak)})
    except TypeError as error:
        raise ValueError("its progress has entries of another version") from error


def _refuse_types(entries: Any, types: Mapping[str, Any], any_float: bool = False) -> None:
    """Raise ValueError where entries are of other types, or numbers are too large."""
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
    """Return the state of a run that an exception ended; so does SIGTERM before the first step."""
    if isinstance(error, StoppedError):
        return "stopped"
    if isinstance(error, Exception):
        return "failed"
    return "interrupted" if isinstance(error, KeyboardInterrupt) else "stopped"


RECENT = 15 * EVERY  # s within which a process on another machine has shown that it lives
_TIDYING = 0.2  # s that a run needs at most from letting go of the lock to the end
_EXIT_CODES = {"complete": 0, "unstable": UnstableError.exit_code, "stopped": CHECKPOINTED}


@dataclass(frozen=True)
class RunStatus:
    """The state of a run.

    Attributes:
        results: its results file, which need not be there yet.
        state: "running"; "complete" or "unstable", with results; "stopped" at a checkpoint,
            "interrupted" or "failed"; "died", where the process is gone without a word; "unknown",
            of a silent process on another machine.
        explanation: of the state.
        progress: the latest; None where nothing is known of it.
        duration: simulated time in s, 0 where it is not known.
        age: seconds since the latest sign of life; None without any.
        checkpoint: the steps done at the last checkpoint, None without any.
        checkpoint_age: seconds since then.
        process: pid, host, job, since: of the process that runs it, or did.
        device: where it runs.
    """

    results: Path
    state: str
    explanation: str = ""
    progress: Progress | None = None
    duration: float = 0.0
    age: float | None = None
    checkpoint: int | None = None
    checkpoint_age: float = 0.0
    process: Mapping[str, Any] = field(default_factory=dict)
    device: str = ""

    @property
    def running(self) -> bool:
        """Whether there may be more to come."""
        return self.state in ("running", "unknown")

    @property
    def exit_code(self) -> int:
        """That of `seismo watch`: of the run itself, 1 where nothing tells."""
        return _EXIT_CODES.get(self.state, 1)

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as JSON holds it."""
        progress = self.progress
        progress_fields = (
            {} if progress is None else {"fraction": progress.fraction, **asdict(progress)}
        )
        return {**asdict(self), "results": str(self.results), "progress": progress_fields or None}

    @property
    def line(self) -> str:
        """The state in a line."""
        phrases = [self.state]
        if self.progress is not None and self.running:
            share = f"{100 * self.progress.fraction:.0f} %" if self.progress.steps else ""
            phrases += [share, _advance(self.progress, self.checkpoint)]
            phrases += [str(self.progress.peak)] if self.progress.peak else []
        elif self.explanation:
            phrases.append(self.explanation)
        return "  ".join(filter(None, phrases))

    def __str__(self) -> str:
        """Describe all that is known, a fact a line."""
        progress = self.progress
        share = f", {100 * progress.fraction:.0f} % done" if progress and progress.step else ""
        lines = [f"{self.results}: {self.state}{share}"]
        rows = [("", self.explanation)]
        if progress is not None:
            rows.append(("progress", _advance(progress, self.checkpoint, self.running)))
            rows.append(("wavefield", str(progress.peak) if progress.peak else ""))
        if self.duration:
            rows.append(("simulates", with_unit(self.duration, "s")))
        if self.checkpoint is not None:
            ago = clock_time(self.checkpoint_age)
            rows.append(("checkpoint", f"after step {self.checkpoint}, {ago} ago"))
        rows += [("process", self._process()), ("device", self.device)]
        return "\n".join(lines + [f"  {name:<12}{text}" for name, text in rows if text])

    def _process(self) -> str:
        if not self.process:
            return ""
        job = f", job {self.process['job']}" if self.process.get("job") else ""
        sign = "" if self.age is None else f"; last sign of life {clock_time(self.age)} ago"
        process = "{pid} on {host}{job}, since {since}{sign}"
        unknown = {"pid": "unknown", "host": "unknown", "since": "unknown"}
        return process.format(**{**unknown, **self.process, "job": job, "sign": sign})


def status_of(name: Path) -> list[RunStatus]:
    """Return the state of the run that a name stands for; of all shares of a survey's shots.

    Args:
        name: a results file, its run directory, or a scenario, whose results are meant.

    Raises:
        ScenarioError: there is no such run, or its results cannot be read.
    """
    results = results_named(name)
    shares = results.parent.glob(
        f"{escape(results.stem)}-[0-9]*of[0-9]*{escape(results.suffix)}*".replace("**", "*")
    )
    paths = {results, *(path.with_suffix("") if _is_run(path) else path for path in shares)}
    runs = [path for path in sorted(paths) if path.is_file() or run_folder(path).is_dir()]
    if not runs:
        raise ScenarioError(
            f"{name}: neither results {results.name} nor a run to them, {run_folder(results).name},"
            " are there; it was not begun, or ended before its first checkpoint"
            f"{similar_name(results)}"
        )
    return [_status(path) for path in runs]


def unfinished(results: Path) -> RunStatus | None:
    """Return the state of a run that still has its folder beside results, None without."""
    folder = run_folder(results)
    status = None
    for _ in range(2):
        if not folder.is_dir():
            return None
        status = _unfinished(results, folder)
        if status.state != "died":
            break
        time.sleep(_TIDYING)  # it may be about to end: then the folder goes
    return status


def _is_run(path: Path) -> bool:
    return path.suffix == ".run"


def results_named(name: Path) -> Path:
    """Return the results file that a name stands for; see `status_of`."""
    if name.suffix in (".yaml", ".yml"):
        results = load(name).results_path
        assert results is not None  # it is a file
        return results
    return name.with_suffix("") if _is_run(name) else name


def _status(results: Path) -> RunStatus:
    if (status := unfinished(results)) is not None:
        return status
    with open_any(results) as opened:
        state = opened.status if opened.status != UNFINISHED else "stopped"
        explanation = opened.message
        if not explanation and opened.status == COMPLETE and "bytes_per_second" in opened.summary:
            explanation = closing_line(opened.summary)
        return RunStatus(results, state, explanation)


def _unfinished(results: Path, folder: Path) -> RunStatus:
    beat = dict[str, Any]()
    progress = None
    problem = ""
    try:
        latest = read_heartbeat(folder)
        progress = progress_of(latest)
        beat = latest
    except FileNotFoundError:
        pass  # it has just begun, or an older version runs it
    except (OSError, ValueError) as error:
        problem = f"{NAME} cannot be read: {error}"
    # The lock names who has it now, the file who wrote it.
    process = lock_holder(folder) or {k: beat[k] for k in ("pid", "host", "job", "since") if beat}
    age = time.time() - beat["updated"] if beat else None
    state, explanation = _judged(folder, beat, process, age)
    step, since = _last_checkpoint(folder)
    if state not in ("running", "unknown"):
        onwards = f"go on with: seismo resume {shlex.quote(str(folder))}"
        if not can_resume(folder):
            onwards = "it left no checkpoint; run it again"
        elif state == beat.get("state") and beat.get("tells_how_to_resume"):
            onwards = ""  # as the run itself has said
        explanation = "; ".join(filter(None, (explanation, onwards)))
    return RunStatus(
        results, state, "; ".join(filter(None, (explanation, problem))), progress,
        beat.get("duration", 0.0), age and max(0.0, age), step, since, process,
        beat.get("device", ""),
    )  # fmt: skip


def _judged(
    folder: Path, beat: Mapping[str, Any], process: Mapping[str, Any], age: float | None
) -> tuple[str, str]:
    """Return the state of a run that has its folder, and its explanation."""
    if is_held(folder):
        return "running", ""
    if beat and beat["state"] != "running":
        return beat["state"], beat["message"]
    host = process.get("host")
    if host is not None and host != socket.gethostname():
        # Not every file system shows the locks of other machines.
        if age is not None and abs(age) < RECENT:
            return "running", ""
        silent = ""
        if age is not None and age > 0.0:
            silent = f", silent for {clock_time(age)}"
        elif age is not None:
            silent = f", whose clock is {clock_time(-age)} ahead of this one: when it last wrote "
            silent += "is not known"
        return "unknown", f"its process is on another machine, {host}{silent}"
    return "died", f"process {process['pid']} is gone" if process.get("pid") else ""


def _last_checkpoint(folder: Path) -> tuple[int | None, float]:
    """Return the steps done at the last checkpoint, and its age in s."""
    for path in checkpoint_files(folder):
        with contextlib.suppress(OSError, ValueError):
            step = int(path.stem.removeprefix("checkpoint-"))
            return step, max(0.0, time.time() - path.stat().st_mtime)
    return None, 0.0


def _advance(progress: Progress, checkpoint: int | None, running: bool = True) -> str:
    """Describe the step and, while it runs, the speed; or the activity before the first step."""
    if not progress.steps:
        return progress.phase if checkpoint is None else (
            f"{progress.phase}, to go on from step {checkpoint}"
        )  # fmt: skip
    if running:
        return facts(progress)
    return f"step {progress.step}/{progress.steps}  t = {with_unit(progress.time, 's')}"
