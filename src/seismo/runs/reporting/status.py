"""How far a run is, from what it leaves on disk: `seismo status` and `seismo watch`.

    lock          held as long as the process lives: no stale file passes for a run
    status.json   the latest sign of life: step, speed, peaks; how the run ended (`heartbeat`)
    checkpoint-*  where it can go on from

Everything is read, nothing changed; each of these may be missing, half-written or of a dead run.
"""

from __future__ import annotations

import contextlib
import shlex
import socket
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from glob import escape
from pathlib import Path
from typing import Any

from seismo.errors import CHECKPOINTED, ScenarioError, UnstableError
from seismo.formats.reading.text import similar_name
from seismo.output.results import open_results
from seismo.output.results_file import COMPLETE
from seismo.output.run_directory.checkpoint import checkpoint_files
from seismo.output.run_directory.lock import is_held, lock_holder
from seismo.output.run_directory.partial_files import UNFINISHED, run_folder
from seismo.runs.reporting.heartbeat import (
    EVERY,
    NAME,
    progress_of,
    read_heartbeat,
)
from seismo.runs.reporting.progress import (
    Progress,
    clock_time,
    closing_line,
    facts,
)
from seismo.scenario import load
from seismo.scenario.units import with_unit

RECENT = 15 * EVERY  # s within which a process on another machine has shown that it lives
_TIDYING = 0.2  # s that a run needs at most from letting go of the lock to the end
_EXIT_CODES = {"complete": 0, "unstable": UnstableError.exit_code, "stopped": CHECKPOINTED}


@dataclass(frozen=True)
class RunStatus:
    """The state of one run.

    Attributes:
        results: its results file, which need not be there yet.
        state: "running"; "complete" or "unstable", with results; "stopped" at a checkpoint,
            "interrupted" or "failed"; "died", where the process is gone without a word; "unknown",
            of a silent process on another machine.
        explanation: what the state does not say.
        progress: the latest; None where nothing is known of it.
        duration: simulated time in s, 0 where it is not known.
        age: seconds since the latest sign of life; None without one.
        checkpoint: the steps done at the last one, None without one.
        checkpoint_age: seconds since then.
        process: pid, host, job, since: what runs it, or did.
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
        """The state in one line."""
        phrases = [self.state]
        if self.progress is not None and self.running:
            share = f"{100 * self.progress.fraction:.0f} %" if self.progress.steps else ""
            phrases += [share, _advance(self.progress, self.checkpoint)]
            phrases += [str(self.progress.peak)] if self.progress.peak else []
        elif self.explanation:
            phrases.append(self.explanation)
        return "  ".join(filter(None, phrases))

    def __str__(self) -> str:
        """Describe all that is known, one fact a line."""
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
    """Return the state of a run to some results that has its folder yet, None without one."""
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
    with open_results(results) as opened:
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
        if step is None:
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
    """Return the state of a run that has its folder, and what explains it."""
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
    """Describe the step and, while it runs, the speed; or what is done before the first step."""
    if not progress.steps:
        return progress.phase if checkpoint is None else (
            f"{progress.phase}, to go on from step {checkpoint}"
        )  # fmt: skip
    if running:
        return facts(progress)
    return f"step {progress.step}/{progress.steps}  t = {with_unit(progress.time, 's')}"
