"""Runs of ensembles: members dealt to ranks, each a run by itself, and a file of all of them.

    results.h5.run/beginning.json    the identity of the ensemble, and how it was begun
    results.h5.run/member-00003.h5   traces and maps of a finished member
    results.h5.run/member-00003.h5.run/   checkpoints of a member under way

A member takes the steps of a single run of its scenario, and leaves the same bits. The ranks, or
the GPUs of this process, take members in turn. Finished members stay when the ensemble is stopped
or killed; the others are run when it goes on.
"""

from __future__ import annotations

import contextlib
import shlex
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from seismo.backends.communicator import SerialCommunicator
from seismo.backends.machine import free_disk
from seismo.backends.select import BackendChoice, choose_all, spread
from seismo.errors import ScenarioError, StoppedError, StorageError, UnstableError
from seismo.features.ensembles.collection import collect
from seismo.features.ensembles.members import Members
from seismo.features.ensembles.results import Ensemble, open_ensemble
from seismo.output.results import temporary_results
from seismo.output.results_file import COMPLETE, ResultsWriter
from seismo.output.run_directory import sealed, write_new
from seismo.output.run_directory.checkpoint import BEGINNING, checkpoint_files
from seismo.output.run_directory.lock import Lock
from seismo.output.run_directory.partial_files import run_folder
from seismo.output.run_results import RunResults, feature_results, results_target
from seismo.runs import file_contents
from seismo.runs.checkpoints import (
    Checkpoints,
    origin_of,
    read_beginning_file,
    remove_all,
    remove_later,
    remove_members,
    take_up,
)
from seismo.runs.compatibility import digest, identity_of, refuse_another, refuse_results
from seismo.runs.loop.run_loop import Run
from seismo.runs.prediction.assess import assess, unsought
from seismo.runs.progress import Progress, Unprofiled, clock_time
from seismo.runs.request import Request, StopRequest, silent, time_of_end
from seismo.runs.resources.memory import memory_of, output_of
from seismo.runs.resources.placement import UnplacedRun, place_run, select_backends
from seismo.runs.run import report_device, run_on
from seismo.runs.status import Heartbeat
from seismo.scenario import Scenario
from seismo.scenario.units import with_unit
from seismo.solver.discretization import Discretization

_ALONE = SerialCommunicator()  # every member runs by itself


def run_ensemble(ranks: SerialCommunicator, scenario: Scenario, request: Request) -> Any:
    """Run the members of an ensemble on ranks, all of which call this alike.

    Args:
        ranks: that share the members.
        scenario: checked, with an ensemble.
        request: see `seismo.run`.

    Returns:
        The results to the first rank, None to the others; of a single member, if the request names
        it, those of its run.

    Raises:
        ScenarioError: values of a member will not do.
        SeismoError: as `seismo.run` does.
    """
    members = Members(scenario)
    if request.member is not None:
        return run_on(ranks, members[request.member], _by_itself(request, scenario))
    if request.shots is not None:
        raise scenario.mistake("ensemble", problem="runs all shots of a member: leave out --shots")
    if request.profile:
        raise scenario.mistake("ensemble", problem="has no profile: use --member 0 --profile")
    members.refuse_unsound()
    choices, why = _devices(members, request, ranks)
    path = request.path_of(scenario)
    if path is None and ranks.processes > 1:
        raise ScenarioError("output: several ranks need a file to write to; name it")

    def run_to(final: Path) -> None:
        def run_rank(rank: SerialCommunicator, choice: BackendChoice) -> None:
            rank_request = request if rank.first else replace(request, report=silent)
            report_device(rank_request.report, choice, rank, why)
            EnsembleRun(rank, choice, members, rank_request, final).go()

        spread(ranks, choices, run_rank)

    if path is None:
        return temporary_results("results.h5", lambda file: run_to(results_target(file)), Ensemble)
    run_to(results_target(path))
    return open_ensemble(path) if ranks.first else None


def _devices(
    members: Members, request: Request, ranks: SerialCommunicator
) -> tuple[list[BackendChoice], str]:
    """Choose where members run, and return the reason where there was a choice."""
    count = request.gpus
    if count == "auto":  # each takes members of its own
        choices = choose_all(count, request.backend, request.device, request.threads, ranks)
        return choices[: len(members)], ""
    return select_backends(
        UnplacedRun(members[0]), request.backend, request.device, count, request.threads, ranks
    )


def _by_itself(request: Request, scenario: Scenario) -> Request:
    """Return the request of a single member."""
    path = request.path_of(scenario)
    if request.output is None and path is not None:
        path = path.with_name(f"{path.stem}-member-{request.member}{path.suffix}")
    return replace(request, member=None, output=path)


def member_file(folder: Path, member: int) -> Path:
    """Return the file of a member in the folder of a run."""
    return folder / f"member-{member:05d}.h5"


class MemberRun(Run):
    """The run of a member, whose file has traces and maps alone, and is not assessed."""

    def new_file(self) -> ResultsWriter:
        """Return its results file, not begun yet."""
        return ResultsWriter(
            self.path, scenario_text="", resolved="",
            attributes=file_contents.attributes_of(self.discretization)
            | {"identity": self.identity},
            done=self.start.done,
        )  # fmt: skip

    def lay_out(self, writer: ResultsWriter) -> None:
        """Create the datasets that steps fill."""
        file_contents.write_ground(writer, self.discretization)
        file_contents.create_traces(writer, self.discretization)
        file_contents.create_maps(writer, self.discretization)


class MemberCheckpoints(Checkpoints):
    """Checkpoints of a member, with which the ensemble goes on."""

    @property
    def resume_command(self) -> str:
        """Describe how to go on."""
        return f"go on with: seismo resume {shlex.quote(str(self.folder.parent))}"


class EnsembleRun:
    """The part of a rank in the run of an ensemble."""

    def __init__(
        self, ranks: SerialCommunicator, choice: BackendChoice, members: Members, request: Request,
        final: Path,
    ) -> None:  # fmt: skip
        """Prepare it.

        Args:
            ranks: that share the members.
            choice: where this rank runs.
            members: of the ensemble.
            request: see `seismo.run`.
            final: the results file.
        """
        self.ranks = ranks
        self.choice = choice
        self.members = members
        self.scenario = members.scenario
        self.request = request
        self.report = request.report
        self.final = final
        self.folder = run_folder(final)
        self.backend = choice.make(self.scenario.precision)
        self.end = time_of_end(request.time_limit)
        self.identity = ""
        self.begun_at = time.monotonic()

    def go(self) -> None:
        """Run the members of this rank; the first rank makes the results file of all."""
        discretization = UnplacedRun(self.scenario).discretized(self.backend, self.ranks)
        identity = {
            **identity_of(discretization, self.backend),
            "draws": {
                str(key): column.tolist()
                for key, column in zip(
                    self.members.draws.keys, self.members.draws.table.T, strict=True
                )
            },
        }
        self.identity = digest(identity)
        with (
            Lock(self.folder) if self.ranks.first else contextlib.nullcontext(),
            self._with_heartbeat(discretization) as self.report,
        ):
            is_complete = self.ranks.first and self._begin(identity, discretization)
            if self.ranks.allgather(is_complete)[0]:
                self.report(Progress("checkpoint", note=f"{self.final}: is complete already"))
                return
            if self.ranks.first:
                self.assessment = assess(discretization, unsought)
                for warning in self.assessment.warnings:
                    self.report(Progress("caution", note=warning))
            try:
                self._run_members(discretization.total_steps)
                self.ranks.wait()
                if self.ranks.first:
                    self._finish()
            finally:
                if self.ranks.first:
                    self._tidy()
            self.ranks.wait()

    def _with_heartbeat(self, discretization: Discretization) -> Any:
        """Return the reporter of this rank; that of the first leaves signs of life."""
        if not self.ranks.first:
            return contextlib.nullcontext(self.report)
        facts = {
            "results": self.final.name,
            "device": self.choice.note.partition("; ")[0],
            "duration": discretization.clock.steps * discretization.clock.dt,
        }
        return Heartbeat(self.folder, facts, self.report)

    def _begin(self, identity: dict[str, Any], discretization: Discretization) -> bool:
        """Take up an earlier run, or begin anew; return whether the results are complete.

        Raises:
            ScenarioError: an earlier run is of another ensemble, or nobody said whether to go on.
            StorageError: the disk is too small or failing.
        """
        beginning = self.folder / BEGINNING
        if beginning.is_file() and self.request.resume is None:
            raise ScenarioError(
                f"{self.folder}: an unfinished run left {len(self._finished)} of "
                f"{len(self.members)} members; go on with --resume, or start over with --no-resume"
            )
        if beginning.is_file() and self.request.resume:
            refuse_another(read_beginning_file(beginning)["identity"], identity, self.scenario)
            return False
        if self.request.resume and self._is_complete(identity):
            return True
        if checkpoint_files(self.folder) and self.request.resume is not False:
            raise ScenarioError(
                f"{self.folder}: an unfinished run that is no ensemble left a checkpoint; choose "
                "another --output to keep it, or start over with --no-resume"
            )
        remove_all(self.folder)
        self._refuse_small_disk(discretization)
        facts = {
            "identity": identity, "results": self.final.name, "backend": self.backend.name,
            "gpus": self.choice.together, "shots": None, **origin_of(self.scenario),
        }  # fmt: skip
        write_new(beginning, sealed(facts))
        return False

    def _is_complete(self, identity: dict[str, Any]) -> bool:
        """Whether the results are there, of this very ensemble.

        Raises:
            ScenarioError: they are of another.
        """
        if not self.final.exists():
            return False
        if feature_results(self.final) is None:
            raise ScenarioError(
                f"{self.final}: is no ensemble, which --resume goes on with; choose another "
                "--output to keep it, or replace it with --no-resume"
            )
        try:
            with open_ensemble(self.final) as results:
                text = results.scenario
                if results.attributes.get("identity") == self.identity:
                    return True
        except ScenarioError:
            return False
        refuse_results(self.final, text, identity, self.scenario)

    def _refuse_small_disk(self, discretization: Discretization) -> None:
        """Raise StorageError where the results do not fit."""
        # The members' files and the file of all are there together at the end.
        need = 2 * len(self.members) * output_of(discretization).total
        free = free_disk(self.final.parent)
        if free is not None and need > free:
            raise StorageError(
                f"{self.final}: {len(self.members)} members take up to {with_unit(need, 'B')} "
                f"meanwhile; {self.final.parent} has {with_unit(free, 'B')} left; use fewer "
                "members or receivers, or write elsewhere"
            )

    @property
    def _finished(self) -> list[int]:
        """The members whose files are there."""
        return [k for k in range(len(self.members)) if member_file(self.folder, k).is_file()]

    def _run_members(self, steps: int) -> None:
        """Run the members of this rank that are not finished."""
        pending = sorted(set(range(len(self.members))) - set(self._finished_alike()))
        dealt = pending[self.ranks.number :: self.ranks.count]
        for index, member in enumerate(dealt):
            self._refuse_to_go_on(member)
            self._run_member(member, index, len(dealt))
            share = (index + 1) / len(dealt)
            self.report(self._progress(Progress("step", steps, steps), index, len(dealt), share))

    def _finished_alike(self) -> list[int]:
        """Return the finished members as the first rank sees them."""
        finished: list[int] = self.ranks.allgather(self._finished if self.ranks.first else [])[0]
        return finished

    def _refuse_to_go_on(self, member: int) -> None:
        """Raise StoppedError between two members where that is asked for, or time is up."""
        stop = StopRequest(self.request.signals, self.end, 0)
        if stop.reason and self.folder.exists():
            raise StoppedError(
                f"stopped before member {member} of {len(self.members)}, {stop.reason}; go on "
                f"with: seismo resume {shlex.quote(str(self.folder))}"
            )

    def _run_member(self, member: int, index: int, count: int) -> None:
        """Run a member to its file, from its checkpoint if there is one."""
        path = member_file(self.folder, member)
        identity = {"ensemble": self.identity, "member": member}

        def report(progress: Progress) -> None:
            if progress.phase in ("caution", "warning", "checkpoint"):
                note = f"member {member}: {progress.note}"
                self.report(replace(progress, step=0, steps=0, note=note))
            elif progress.phase == "step":
                share = (index + progress.fraction) / count
                self.report(self._progress(progress, index, count, share))
            elif progress.phase == "compile" and index == 0:
                self.report(progress)

        with self._named(member):
            start = take_up(run_folder(path), True, identity, report, _ALONE)
            if start.paths:
                remove_later(run_folder(path), start.paths[0])
            discretization = UnplacedRun(self.members[member]).discretized(self.backend)
            discretization, _ = place_run(
                discretization, self.backend, _ALONE, start.header.get("together")
            )
            memory = memory_of(discretization, self.backend)
            stop = StopRequest(self.request.signals, self.end, memory.state)
            facts = {"identity": identity, "together": discretization.batch}
            checkpoints = MemberCheckpoints(
                run_folder(path), self.scenario.checkpoint, facts, stop, _ALONE,
                discretization.total_steps,
            )  # fmt: skip
            MemberRun(
                discretization, memory, path, report, Unprofiled(self.backend), _ALONE,
                digest(identity), start, checkpoints,
            ).go()  # fmt: skip

    @contextlib.contextmanager
    def _named(self, member: int) -> Iterator[None]:
        """Name the member, and its values, in an error."""
        subject = f"member {member} ({self.members.draws.described(member)})"
        try:
            yield
        except UnstableError as error:
            member_file(self.folder, member).unlink(missing_ok=True)
            raise UnstableError(f"{subject}: {error}", error.good) from None
        except ScenarioError as error:
            raise ScenarioError(*(f"{subject}: {text}" for text in error.messages)) from None

    def _progress(self, progress: Progress, index: int, count: int, share: float) -> Progress:
        """Return the progress of the ensemble for that of a member."""
        return replace(
            progress, step=index * progress.steps + progress.step, steps=count * progress.steps,
            elapsed=time.monotonic() - self.begun_at, shots=f"member {index + 1} of {count}",
            work=share,
        )  # fmt: skip

    def _finish(self) -> None:
        """Make the results file of all members, and remove theirs."""
        files = [member_file(self.folder, k) for k in range(len(self.members))]
        for member, file in enumerate(files):
            with RunResults(file) as results:
                expected = digest({"ensemble": self.identity, "member": member})
                if results.attributes.get("identity") != expected or results.status != COMPLETE:
                    raise StorageError(f"{file}: is not of this run; remove it, then --resume")
        elapsed = time.monotonic() - self.begun_at
        facts = {"members": len(files), "elapsed_s": elapsed, **self.backend.describe()}
        attributes = {**self.assessment.attributes, "identity": self.identity}
        collect(self.final, self.members, files, attributes, facts)
        remove_members(self.folder)
        note = f"{len(files)} members in {clock_time(elapsed)}, all included"
        self.report(Progress("done", 1, 1, note=note))

    def _tidy(self) -> None:
        """Remove the folder of a run that has nothing to go on from."""
        if not self._finished and not any(self.folder.glob("member-*.run/checkpoint-*")):
            remove_members(self.folder)


RUNS = run_ensemble
