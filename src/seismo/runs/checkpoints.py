"""Checkpoints of a run: when they are stored, how it was begun, and where a later run takes it up.

A checkpoint is due after a wall-clock time, after a number of steps, when a signal asks for it, and
when the run has to stop (`seismo.runs.request`).

On several ranks each writes its own, the first into the run directory and the others into folders
in it, at steps that all agree on; a checkpoint counts where each of them is sound. Another number
of ranks may go on from it.
"""

from __future__ import annotations

import contextlib
import shlex
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from seismo.backends.communicator import SerialCommunicator
from seismo.errors import ScenarioError, StorageError
from seismo.formats.reading import similar_name
from seismo.output.run_directory import checkpoint, read_sealed
from seismo.output.run_directory.checkpoint import DamagedError
from seismo.output.run_directory.partial_files import remove_parts, run_folder
from seismo.output.run_results import RunResults
from seismo.runs.compatibility import described, differences
from seismo.runs.loop import Halt
from seismo.runs.progress import Progress, Reporter
from seismo.runs.request import StopRequest
from seismo.scenario import Scenario
from seismo.scenario.sections.output import Checkpoint
from seismo.solver.discretization import Discretization

_UNSOUND = "no checkpoint is sound; start over with --no-resume"


@dataclass(frozen=True)
class Start:
    """Where a run begins: with nothing, or at a checkpoint.

    Attributes:
        paths: the files of the checkpoint, of each rank that wrote it.
        header: of the first.
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
        """Return the step of a batch that is under way, None where a batch begins."""
        return self.header.get("step") if batch == self.batch else None

    def fill(self, ranks: SerialCommunicator, state: checkpoint.State, put: Callable) -> None:
        """Put the numbers in place; see `seismo.output.run_directory.checkpoint.fill`."""
        if self.paths:
            rank_path = own_folder(self.paths[0].parent, ranks.number) / self.paths[0].name
            checkpoint.fill(self.paths, rank_path, state, put)


def take_up(
    folder: Path,
    wanted: bool | None,
    identity: Mapping[str, Any],
    report: Reporter,
    ranks: SerialCommunicator,
) -> Start:
    """Find the newest sound checkpoint in a run directory; all ranks have to.

    Args:
        folder: the run directory.
        wanted: True to go on from it, False to remove it; None where nobody chose.
        identity: of the run, as `identity_of` has it.
        report: told of damaged ones.
        ranks: that take it up.

    Raises:
        ScenarioError: nobody chose, and there is a checkpoint; or it is of another number of ranks.
        StorageError: no checkpoint is sound.
    """
    if ranks.first and wanted is not False and (folder / checkpoint.BEGINNING).is_file():
        raise ScenarioError(
            f"{folder}: an unfinished run of several, such as an ensemble, left its members; go on "
            "with it by seismo resume, choose another --output, or start over with --no-resume"
        )
    if ranks.first and checkpoint.checkpoint_files(folder) and wanted is None:
        raise ScenarioError(f"{folder}: {_undecided(folder, identity)}")
    if not wanted:
        if ranks.first:
            remove_all(folder)
        ranks.wait()
        return Start()
    ranks.wait()
    candidates = ranks.allgather(list(filter(_is_whole, checkpoint.checkpoint_files(folder))))[0]
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


def _undecided(folder: Path, identity: Mapping[str, Any]) -> str:
    """Explain the choices for checkpoints that another run left."""
    stored = last_header(folder).get("identity", {}).get("scenario")
    change = next(differences(stored, identity["scenario"]), None)
    if change is None:
        return (
            "an unfinished run left a checkpoint; go on from it with --resume, or start over with "
            "--no-resume"
        )
    return (
        f"an unfinished run of another scenario, whose {described(change)}, left a checkpoint; "
        "choose another --output to keep it, or start over with --no-resume"
    )


def _sound(path: Path, report: Reporter, ranks: SerialCommunicator) -> Start | None:
    """Verify the files of a checkpoint, shared out between ranks; None if any is damaged."""
    problem = ""
    paths = list[Path]()
    header = dict[str, Any]()
    try:
        header = checkpoint.header_of(path)
        paths = _paths(path, header)
        for path in paths[ranks.number :: ranks.count]:
            checkpoint.verify(path)
    except DamagedError as error:
        problem = str(error)
    problems = [text for text in ranks.allgather(problem) if text]
    if problems:
        report(Progress("warning", note=f"{problems[0]}; taking the one before"))
        return None
    return Start(tuple(paths), header)


def _paths(path: Path, header: Mapping[str, Any]) -> list[Path]:
    """Return the files of all ranks that wrote a checkpoint, from the file of the first."""
    return [own_folder(path.parent, n) / path.name for n in range(header.get("ranks", 1))]


def _is_whole(path: Path) -> bool:
    """Whether all ranks have written a checkpoint, or a damaged file is there."""
    try:
        return all(file.exists() for file in _paths(path, checkpoint.header_of(path)))
    except DamagedError:
        return True


def own_folder(folder: Path, number: int) -> Path:
    """Return the folder within a run directory where a rank has its checkpoints."""
    return folder / f"rank-{number}" if number else folder


def last_header(folder: Path) -> dict[str, Any]:
    """Return the header of the newest readable checkpoint of a run.

    Raises:
        ScenarioError: there is none.
        StorageError: all there are are damaged.
    """
    problems = []
    for path in checkpoint.checkpoint_files(folder):
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
        with contextlib.suppress(ScenarioError), RunResults(folder) as results:
            return f"is a results file: it is {results.status}, nothing is left to do"
    problem = "no such folder"
    if folder.exists():
        problem = "holds no checkpoint" if folder.is_dir() else "is no folder"
    name = instead.name if instead.is_dir() else "RESULTS.run"
    return f"{problem}; name the folder of a run, {name}{similar_name(folder, '.run')}"


def remove_later(folder: Path, than: Path) -> None:
    """Remove the checkpoints of a run, of all ranks, that are later than a given checkpoint.

    A run that goes on from the checkpoint before drops the results that the damaged checkpoint
    needs: whether or not it can be read again, it must not be taken.
    """
    for rank_folder in (folder, *folder.glob("rank-*")):
        for path in checkpoint.checkpoint_files(rank_folder):
            if path.name > than.name:
                path.unlink()


def remove_all(folder: Path) -> None:
    """Remove all checkpoints of a run, of all its ranks, and its parts: they are no use without."""
    for path in checkpoint.checkpoint_files(folder):
        path.unlink()
    for other in folder.glob("rank-*"):
        shutil.rmtree(other)
    remove_members(folder)
    remove_parts(folder)


def remove_members(folder: Path) -> None:
    """Remove the finished and unfinished members of a run of several, and what tells of them."""
    for path in folder.glob("member-*"):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    (folder / checkpoint.BEGINNING).unlink(missing_ok=True)


class Checkpoints:
    """Write the checkpoints of a run; the schedule of them, too (`seismo.runs.loop`).

    Attributes:
        folder: the run directory.
        steps: of a batch after which a checkpoint is due.
        ending: why the run has to stop at the latest halt, as all ranks agree; else nothing.
    """

    def __init__(
        self, folder: Path, wanted: Checkpoint, facts: Mapping[str, Any], stop: StopRequest,
        ranks: SerialCommunicator, steps: int,
    ) -> None:  # fmt: skip
        """Begin to count.

        Args:
            folder: the run directory.
            wanted: how often.
            facts: of the run, which every checkpoint holds.
            stop: why the run has to stop.
            ranks: that write them together.
            steps: of a batch.
        """
        self.folder = folder
        self._ranks = ranks
        self.ending = ""
        self.steps = range(wanted.steps or steps, steps, wanted.steps or steps)
        self._wanted = wanted
        self._facts = facts
        self._stop = stop
        self._last = time.monotonic()

    @property
    def resume_command(self) -> str:
        """Describe how to go on."""
        how = "go on, on any number of ranks, with" if self._ranks.processes > 1 else "go on with"
        return f"{how}: seismo resume {shlex.quote(str(self.folder))}"

    @property
    def exist(self) -> bool:
        """Whether there is a checkpoint to go on from."""
        return bool(checkpoint.checkpoint_files(self.folder))

    def remove(self) -> None:
        """Remove all there are: the results are complete, or there is nothing to go on from."""
        remove_all(self.folder)

    def begin(self) -> None:
        """Let signals wait for a checkpoint from now on: steps are being taken."""
        self._stop.signals.stepping = True

    def is_due(self, halt: Halt) -> bool:
        """Whether a checkpoint is due on any rank; several ranks are asked where all halt."""
        self.ending = ""
        if halt.is_last or (self._ranks.has_others and not halt.is_planned):
            return False
        late = time.monotonic() - self._last >= self._wanted.wall_time
        reason = self._stop.reason
        due = late or self._stop.signals.save or bool(reason) or halt.step in self.steps
        dues, reasons = zip(*self._ranks.allgather((due, reason)), strict=True)
        self.ending = max(reasons)
        return any(dues)

    def write(
        self, done: int, facts: Mapping[str, Any], state: checkpoint.State, fetch: Callable,
        begin: float,
    ) -> None:  # fmt: skip
        """Store a checkpoint, begun at a `time.monotonic`; see `output.checkpoint.write`."""
        rank_folder = own_folder(self.folder, self._ranks.number)
        rank_folder.mkdir(exist_ok=True)
        checkpoint.write(rank_folder, done, {**self._facts, **facts}, state, fetch)
        self._ranks.wait()
        if self._ranks.first:
            self._remove_others()
        self._stop.signals.save = False
        self._last = time.monotonic()
        self._stop.wrote(self._last - begin)

    def _remove_others(self) -> None:
        """Remove files of more ranks than these, once their checkpoints are gone."""
        kept = {path.name for path in checkpoint.checkpoint_files(self.folder)}
        for rank_folder in self.folder.glob("rank-*"):
            remaining = [
                path for path in checkpoint.checkpoint_files(rank_folder) if path.name in kept
            ]
            if not remaining:
                shutil.rmtree(rank_folder)


def origin_of(scenario: Scenario) -> dict[str, Any]:
    """Return where a scenario comes from, its text, and values that were left to the program."""
    name = "scenario.yaml" if scenario.path is None else scenario.path.name
    return {
        "text": scenario.text,
        "file": str(scenario.base.resolve() / name),
        "as_file": _is_as_file(scenario),
        "chosen": scenario.chosen,
    }


_NEEDED = ("results", "backend", "text", "file")


def beginning_of(discretization: Discretization, **chosen: Any) -> dict[str, Any]:
    """Return the facts of a run's beginning, its choices included, for every checkpoint."""
    return {
        **origin_of(discretization.scenario),
        "together": discretization.batch,
        "layers": asdict(discretization.field_damping),
        **chosen,
    }


def read_beginning(folder: Path) -> dict[str, Any]:
    """Return the header of the newest readable checkpoint of a run, complete.

    Of several runs in a folder it is the file `checkpoint.BEGINNING` that tells how they began.

    Raises:
        ScenarioError: there is none.
        StorageError: none can be read, or it lacks an entry that is needed to go on.
    """
    beginning = folder / checkpoint.BEGINNING
    header = read_beginning_file(beginning) if beginning.is_file() else last_header(folder)
    if lacking := [name for name in _NEEDED if not isinstance(header.get(name), str)]:
        raise StorageError(
            f"{folder}: its checkpoint does not say its {', '.join(lacking)}; start over: "
            "seismo run ... --no-resume"
        )
    return header


def read_beginning_file(path: Path) -> dict[str, Any]:
    """Return how several runs in a folder began.

    Raises:
        StorageError: the file is damaged.
    """
    try:
        return read_sealed(path)
    except (OSError, ValueError) as error:
        raise StorageError(f"{path}: is damaged: {error}; start over with --no-resume") from error


def _is_as_file(scenario: Scenario) -> bool:
    """Whether a scenario is that of its file, not changed in Python."""
    path = scenario.path
    return (
        path is not None
        and path.is_file()
        and path.read_bytes().decode("utf-8-sig", "replace") == scenario.text
    )
