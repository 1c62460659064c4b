"""When a run stores what it goes on from, and where a later one takes it up.

A checkpoint is due after some time on the wall, after some steps, when a signal asks for one, and
when the machine will soon be taken away: as long before as it takes to write, with half as much and
a minute to spare. Before the first is written, that is reckoned from its size.

On several ranks each writes its own, the first into the run directory and the others into folders
in it, at steps that all agree on; what counts is a step of which every one of them is sound.
Another number of ranks may go on from it.
"""

from __future__ import annotations

import contextlib
import math
import shlex
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seismo.backends.communicator import SerialCommunicator
from seismo.errors import ScenarioError, StorageError
from seismo.output import checkpoint
from seismo.output.checkpoint import DamagedError
from seismo.output.partial_files import remove_parts, run_folder
from seismo.output.results import open_results
from seismo.runs.progress import Progress, Reporter
from seismo.runs.signals import Signals
from seismo.scenario.checkpoint import Checkpoint

SPARE = 60.0  # s before the machine is taken away, or a tenth of the time there is
SLOW_DISK = 2e8  # bytes a second, to reckon with before there is a number
_UNSOUND = "no checkpoint is sound; start over with --no-resume"
_SLACK = 1.5  # of the longest that a checkpoint took


@dataclass(frozen=True)
class Start:
    """Where a run begins: with nothing, or at a checkpoint.

    Attributes:
        paths: the files of the checkpoint, one for each rank that wrote it.
        header: what the first says of itself.
    """

    paths: tuple[Path, ...] = ()
    header: Mapping[str, Any] = field(default_factory=dict)

    @property
    def done(self) -> int | None:
        """Steps taken by then over all batches of shots, None without a checkpoint."""
        return self.header.get("done")

    @property
    def batch(self) -> int:
        """The batch that comes next, or is under way."""
        return self.header.get("batch", 0)

    def step_of(self, batch: int) -> int | None:
        """Return the step of a batch that is under way, None for one that begins."""
        return self.header.get("step") if batch == self.batch else None

    def fill(self, ranks: SerialCommunicator, state: checkpoint.State, put: Callable) -> None:
        """Put the numbers in place; see `seismo.output.checkpoint.fill`."""
        if self.paths:
            own = own_folder(self.paths[0].parent, ranks.number) / self.paths[0].name
            checkpoint.fill(self.paths, own, state, put)


def take_up(
    folder: Path, wanted: bool | None, report: Reporter, ranks: SerialCommunicator
) -> Start:
    """Find the newest sound checkpoint in a run directory; all ranks have to.

    Args:
        folder: the run directory.
        wanted: True to go on from it, False to remove what there is; None where nobody chose.
        report: told of damaged ones.
        ranks: that take it up.

    Raises:
        ScenarioError: nobody chose, and there is one; or it is of another number of ranks.
        StorageError: none of those there are is sound.
    """
    if ranks.first and checkpoint.found(folder) and wanted is None:
        raise ScenarioError(
            f"{folder}: an unfinished run left a checkpoint; go on from it with --resume, or start "
            "over with --no-resume"
        )
    if not wanted:
        if ranks.first:
            remove_all(folder)
        ranks.wait()
        return Start()
    ranks.wait()
    candidates = ranks.share(list(filter(_is_whole, checkpoint.found(folder))))[0]
    for path in candidates:
        start = _sound(path, report, ranks)
        if start is not None:
            return start
    if candidates:
        raise StorageError(f"{folder}: {_UNSOUND}")
    if ranks.first:  # the very first was never complete
        remove_all(folder)
    ranks.wait()
    return Start()


def _sound(path: Path, report: Reporter, ranks: SerialCommunicator) -> Start | None:
    """Verify the files of a checkpoint, shared out between ranks; None if any is damaged."""
    problem, paths, header = "", list[Path](), dict[str, Any]()
    try:
        header = checkpoint.header_of(path)
        paths = _paths(path, header)
        for one in paths[ranks.number :: ranks.count]:
            checkpoint.verify(one)
    except DamagedError as error:
        problem = str(error)
    problems = [text for text in ranks.share(problem) if text]
    if problems:
        report(Progress("warning", note=f"{problems[0]}; taking the one before"))
        return None
    return Start(tuple(paths), header)


def _paths(path: Path, header: Mapping[str, Any]) -> list[Path]:
    """Return the files of all ranks that wrote a checkpoint, from the first one's."""
    return [own_folder(path.parent, n) / path.name for n in range(header.get("ranks", 1))]


def _is_whole(path: Path) -> bool:
    """Whether all ranks have written a checkpoint, or what is there is damaged."""
    try:
        return all(one.exists() for one in _paths(path, checkpoint.header_of(path)))
    except DamagedError:
        return True


def own_folder(folder: Path, number: int) -> Path:
    """Return the folder within a run directory where a rank has its checkpoints."""
    return folder / f"rank-{number}" if number else folder


def last_header(folder: Path) -> dict[str, Any]:
    """Read what the newest readable checkpoint of a run says of itself.

    Raises:
        ScenarioError: there is none.
        StorageError: all there are are damaged.
    """
    problems = []
    for path in checkpoint.found(folder):
        try:
            return checkpoint.header_of(path)
        except DamagedError as error:
            problems.append(str(error))
    if problems:
        raise StorageError(f"{problems[0]}; {_UNSOUND}")
    raise ScenarioError(f"{folder}: {_lack(folder)}")


def _lack(folder: Path) -> str:
    """Explain why nothing can go on from here."""
    instead = run_folder(folder)
    if folder.is_file() and not instead.is_dir():
        with contextlib.suppress(ScenarioError), open_results(folder) as results:
            return f"is a results file: it is {results.status}, nothing is left to do"
    problem = "no such folder"
    if folder.exists():
        problem = "holds no checkpoint" if folder.is_dir() else "is no folder"
    name = instead.name if instead.is_dir() else "RESULTS.run"
    return f"{problem}; name the folder of a run, {name}"


def remove_later(folder: Path, than: Path) -> None:
    """Remove the checkpoints of a run, of all ranks, that are later than one.

    A run that goes on from the one before drops the results that a damaged one needs: whether or
    not it can be read again, it must not be taken.
    """
    for place in (folder, *folder.glob("rank-*")):
        for path in checkpoint.found(place):
            if path.name > than.name:
                path.unlink()


def remove_all(folder: Path) -> None:
    """Remove all checkpoints of a run, of all its ranks, and its parts: they are no use without."""
    for path in checkpoint.found(folder):
        path.unlink()
    for other in folder.glob("rank-*"):
        shutil.rmtree(other)
    remove_parts(folder)


class Checkpoints:
    """Write the checkpoints of one run when they are due."""

    def __init__(
        self, folder: Path, wanted: Checkpoint, facts: Mapping[str, Any], signals: Signals,
        end: float | None, size: int, ranks: SerialCommunicator,
    ) -> None:  # fmt: skip
        """Begin to count.

        Args:
            folder: the run directory.
            wanted: how often.
            facts: what every checkpoint says.
            signals: what the outside asks for.
            end: time (s since 1970) at which the machine is taken away, or None.
            size: bytes of one.
            ranks: that write them together.
        """
        self.folder, self._ranks = folder, ranks
        self._wanted, self._facts, self._signals, self._end = wanted, facts, signals, end
        self._last, self._slowest = time.monotonic(), 0.0
        there_is = math.inf if end is None else max(0.0, end - time.time())
        self._spare = min(SPARE, there_is / 10)
        self._expected = min(size / SLOW_DISK, there_is / 3)

    @property
    def onwards(self) -> str:
        """Describe how to go on."""
        how = "go on, on any number of ranks, with" if self._ranks.processes > 1 else "go on with"
        return f"{how}: seismo resume {shlex.quote(str(self.folder))}"

    @property
    def there(self) -> bool:
        """Whether there is one to go on from."""
        return bool(checkpoint.found(self.folder))

    def remove(self) -> None:
        """Remove all there are: the results are complete, or there is nothing to go on from."""
        remove_all(self.folder)

    def begin(self) -> None:
        """Let signals wait for a checkpoint from now on: steps are being taken."""
        self._signals.stepping = True

    def stops(self, steps: int) -> range:
        """List the steps of a batch after which one is due."""
        return range(self._wanted.steps or steps, steps, self._wanted.steps or steps)

    def due(self, step: int) -> bool:
        """Whether one is due after a step of a batch, on any rank."""
        late = time.monotonic() - self._last >= self._wanted.wall_time
        asked = self._signals.save or bool(self._ending())
        due = late or asked or (step > 0 and step % (self._wanted.steps or step + 1) == 0)
        return any(self._ranks.share(due))

    @property
    def ending(self) -> str:
        """Explain why the run has to stop; nothing where it may go on, on all ranks."""
        return max(self._ranks.share(self._ending()))

    def _ending(self) -> str:
        if self._signals.stop:
            return "asked to by SIGTERM"
        left = None if self._end is None else self._end - time.time()
        took = self._slowest or self._expected
        if left is not None and left < _SLACK * took + self._spare:
            return f"{max(0.0, left):.0f} s before its time is up"
        return ""

    def write(
        self, done: int, facts: Mapping[str, Any], state: checkpoint.State, fetch: Callable,
        begin: float,
    ) -> None:  # fmt: skip
        """Store one, whose making began at a `time.monotonic`; see `output.checkpoint.write`."""
        own = own_folder(self.folder, self._ranks.number)
        own.mkdir(exist_ok=True)
        checkpoint.write(own, done, {**self._facts, **facts}, state, fetch)
        self._ranks.wait()
        if self._ranks.first:
            self._remove_others()
        self._signals.save = False
        self._last = time.monotonic()
        self._slowest = max(self._slowest, self._last - begin)

    def _remove_others(self) -> None:
        """Remove what more ranks than these have left, once the checkpoints that it is of are."""
        kept = {path.name for path in checkpoint.found(self.folder)}
        for place in self.folder.glob("rank-*"):
            left = [path for path in checkpoint.found(place) if path.name in kept]
            if not left:
                shutil.rmtree(place)
