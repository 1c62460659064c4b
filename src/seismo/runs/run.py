"""Runs from a scenario to a results file: `run(scenario) -> Results`, and `resume(folder)`.

    scenario -> discretization -> lock -> [complete? checkpoint to go on from?] -> Run -> file

While it runs, parts of the results, checkpoints and the lock are in a folder beside the results,
`RESULTS.run`; it goes when the results are complete.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from seismo.backends.base import Backend
from seismo.backends.communicator import SerialCommunicator
from seismo.backends.select import BackendChoice, spread
from seismo.errors import ScenarioError
from seismo.features import acting
from seismo.output.results import Results, open_any, open_results, temporary_results
from seismo.output.results_file import COMPLETE
from seismo.output.run_directory import plain_name
from seismo.output.run_directory.lock import Lock
from seismo.output.run_directory.partial_files import run_folder
from seismo.output.run_results import feature_results, results_target
from seismo.runs.check import load_placed
from seismo.runs.checkpoints import (
    Checkpoints,
    Start,
    beginning_of,
    read_beginning,
    remove_later,
    take_up,
)
from seismo.runs.compatibility import (
    digest,
    identity_of,
    refuse_another,
    refuse_edited,
    refuse_results,
    replaced,
)
from seismo.runs.loop.run_loop import Run
from seismo.runs.progress import (
    Progress,
    Reporter,
    Unprofiled,
    notebook_bar,
    watch,
)
from seismo.runs.request import (
    Request,
    Signals,
    StopRequest,
    silent,
    time_of_end,
    warning,
)
from seismo.runs.resources.memory import memory_of
from seismo.runs.resources.placement import UnplacedRun, place_run, select_backends
from seismo.runs.status import Heartbeat
from seismo.scenario import Scenario, ScenarioInput, load, parse
from seismo.solver.discretization import Discretization
from seismo.solver.discretize import damped
from seismo.solver.medium.field_damping import LayerDamping


def run(
    scenario: ScenarioInput,
    output: str | os.PathLike[str] | None = None,
    progress: Reporter | None = None,
    *,
    backend: str = "auto",
    device: int | None = None,
    gpus: int | Literal["auto"] | None = None,
    threads: int | None = None,
    resume: bool | None = None,
    shots: str | None = None,
    member: int | None = None,
    time_limit: float | None = None,
    signals: Signals | None = None,
    profile: bool = False,
    accuracy: str | float | None = None,
) -> Results:
    """Run a scenario and open its results; of an ensemble see `seismo.open_ensemble`.

    Args:
        scenario: a scenario, the same as nested dicts, or the path of its YAML file.
        output: the results file. Left out: `output.path` of the scenario (beginning at the
            scenario's folder), else its name with .h5 in the current folder, older results of which
            are replaced; a scenario that is no file, or was changed since it was read, goes to a
            temporary file that lives as long as the returned object.
        progress: called with a `seismo.runs.progress.Progress` a few times a second; None
            for a bar in a notebook, and nothing elsewhere.
        backend: "auto" (a GPU if there is any and no threads are asked for, else the CPU, which
            takes runs too small for a GPU, too), "cpu" or "gpu".
        device: number of the GPU, the first that will do when None.
        gpus: how many GPUs share the run, "auto" for as many as help; None for a single GPU, or as
            `backend` and `device` say.
        threads: threads to use on the CPU, all cores when None.
        resume: True to go on from a checkpoint if there is any, to do nothing where the results are
            complete, and to refuse where they are of another run; False to start over; None to
            refuse where there is a checkpoint.
        shots: a share of the shots, such as "2/4", the second of four; all when None.
        member: number of the only member of an ensemble to run, by itself; all when None.
        time_limit: seconds after which the run has to have stopped at a checkpoint.
        signals: requests from outside during the run.
        profile: whether a timeline of the run is written beside the results, a Chrome trace.
        accuracy: wanted error, such as "0.5 %", in place of `grid.accuracy`.

    Raises:
        ScenarioError: the scenario, or a file that it names, will not do; another run writes to the
            same place; or the checkpoint, or complete results to be replaced, are of another run.
        DeviceError: there is no such backend or device, or it cannot be used.
        InsufficientMemoryError: the run needs more memory than there is.
        StorageError: the disk is too small or failing.
        StoppedError: it was asked to stop, and did so at a checkpoint.
        UnstableError: the wavefield blew up; the results hold the records until then, and
            their `status` is "unstable". Temporary results are removed.

    Warns:
        ScenarioWarning: once for each line that `seismo check` warns of; the results keep them.
    """
    request = Request(
        output, warning(progress or notebook_bar() or silent), backend, device, gpus, threads,
        resume, shots, member, time_limit, signals or Signals(), profile, accuracy,
    )  # fmt: skip
    results = run_on(SerialCommunicator(), scenario, request)
    assert results is not None  # there is no other rank
    return results


def run_on(ranks: SerialCommunicator, scenario: ScenarioInput, request: Request) -> Results | None:
    """Run a scenario on ranks, all of which call this alike; give the results to the first.

    Args:
        ranks: the processes that take part (`seismo.backends.communicator.join`). The
            first writes and reports.
        scenario: see `run`.
        request: see `run`. Backend, GPUs and threads are of each rank, its share of the
            cores when None; it is enough if signals ask any of them. The profile is the first's.

    Raises:
        SeismoError: as `run` does, on a rank or on all.
    """
    checked = load_placed(scenario, request.accuracy)
    # Another processor may round otherwise: the first rank's choices hold.
    if (chosen := ranks.allgather(checked.chosen)[0]) != checked.chosen:
        checked = load(scenario).completed(chosen)
    for run_several in acting("runs", checked):
        return run_several(ranks, checked, request)
    if request.member is not None:
        raise ScenarioError(f"member {request.member}: the scenario has no ensemble; leave it out")
    unplaced = UnplacedRun(checked, request.share)
    choices, why = select_backends(
        unplaced, request.backend, request.device, request.gpus, request.threads, ranks
    )

    def run_rank(rank: SerialCommunicator, choice: BackendChoice) -> Results | None:
        rank_request = request if rank.first else replace(request, report=silent)
        report_device(rank_request.report, choice, ranks, why)
        return _run(rank, choice, unplaced, rank_request)

    return spread(ranks, choices, run_rank)


def report_device(
    report: Reporter, choice: BackendChoice, ranks: SerialCommunicator, why: str
) -> None:
    """Report where ranks run, and why."""
    where, _, reason = choice.note.partition("; ")
    each = f" for each of {ranks.count} ranks" if ranks.has_others else ""
    notes = filter(None, [where + each, reason, why])
    report(Progress("device", note="; ".join(notes)))
    if choice.caution:
        report(Progress("caution", note=choice.caution))


def resume(folder: str | os.PathLike[str], request: Request | None = None) -> Results:
    """Go on with an unfinished run as it was begun, and open its results.

    Args:
        folder: the run directory, `RESULTS.run`; where it has gone, its results are complete.
        request: see `run`; the output, the shots and the backend are as it was begun, and so is
            the number of GPUs where the request names neither a GPU nor a number.

    Raises:
        ScenarioError: there is no checkpoint that can be read, or it is in a folder of another
            name; and as `run` does.
    """
    results = resume_on(SerialCommunicator(), folder, request or Request())
    assert results is not None  # there is no other rank
    return results


def resume_on(
    ranks: SerialCommunicator, folder: str | os.PathLike[str], request: Request
) -> Results | None:
    """Go on with an unfinished run on ranks, as many as there are; give results to the first.

    Args:
        ranks: see `run_on`.
        folder: see `resume`.
        request: see `resume`.

    Raises:
        SeismoError: as `resume` does, on a rank or on all.
    """
    run_directory = Path(os.path.realpath(folder))
    if not run_directory.exists() and (done := _published(run_directory)) is not None:
        request.report(_complete_already(done))
        return open_any(done) if ranks.first else None
    header = read_beginning(run_directory)
    results = run_directory.with_name(plain_name(header["results"], run_directory))
    if run_folder(results) != run_directory:
        raise ScenarioError(
            f"{run_directory}: is the folder of a run to {results.name}; rename it to "
            f"{run_folder(results).name}, or name the results: seismo run ... --resume --output"
        )
    begun = None if request.device is not None or ranks.has_others else header.get("gpus")
    request = replace(
        request, output=results, backend=header["backend"], gpus=request.gpus or begun, resume=True,
        shots=header["shots"],
    )  # fmt: skip
    scenario = parse(header["text"], header["file"])
    if header.get("as_file"):
        refuse_edited(scenario, Path(header["file"]))
    if header.get("chosen"):
        scenario = scenario.completed(header["chosen"])
    return run_on(ranks, scenario, request)


def _run(
    ranks: SerialCommunicator,
    choice: BackendChoice,
    unplaced: UnplacedRun,
    request: Request,
) -> Results | None:
    """Run a scenario on a rank."""
    checked = unplaced.scenario
    backend = choice.make(checked.precision)
    report = request.report
    profile = watch(backend, request.profile and ranks.first, ranks.has_others)
    backend = profile.backend
    discretization = ranks.same(partial(unplaced.discretized, backend, ranks))
    path = request.path_of(checked)
    if path is None and ranks.processes > 1:
        raise ScenarioError("output: several ranks need a file to write to; name it")
    if path is None:
        return _run_in_passing(
            _shared(discretization, backend, ranks, report), report, profile, ranks
        )
    final = results_target(path)
    folder = run_folder(final)
    identity = identity_of(discretization, backend)
    with (
        Lock(folder) if ranks.first else contextlib.nullcontext(),
        _with_heartbeat(ranks, choice, discretization, final, report) as report,
    ):
        start = _taken_up(folder, request, identity, checked, ranks, report)
        begun = bool(start.paths)
        resumes = request.resume and ranks.first
        if ranks.allgather(resumes and _is_complete(final, identity, checked, begun))[0]:
            report(_complete_already(path))
            if ranks.first:
                shutil.rmtree(folder, ignore_errors=True)
            return open_results(path) if ranks.first else None
        if ranks.first and not begun and (note := replaced(final, identity)):
            report(Progress("device", note=note))
        discretization = _shared(discretization, backend, ranks, report, start.header)
        memory = memory_of(discretization, backend)
        facts = beginning_of(
            discretization, identity=identity, backend=backend.name,
            shots=unplaced.share and str(unplaced.share), results=final.name, ranks=ranks.count,
            gpus=choice.together,
        )  # fmt: skip
        end = time_of_end(request.time_limit)
        stop = StopRequest(request.signals, end, memory.state // ranks.count)
        checkpoints = Checkpoints(
            folder, checked.checkpoint, facts, stop, ranks, discretization.total_steps
        )
        with profile.kept(final, report):
            Run(
                discretization, memory, path, report, profile, ranks, digest(identity), start,
                checkpoints,
            ).go()  # fmt: skip
    return open_results(path) if ranks.first else None


def _taken_up(
    folder: Path, request: Request, identity: Mapping[str, Any], scenario: Scenario,
    ranks: SerialCommunicator, report: Reporter,
) -> Start:  # fmt: skip
    """Take up the newest checkpoint of this very run, and remove later ones."""
    start = take_up(folder, request.resume, identity, report, ranks)
    if start.paths:
        refuse_another(start.header.get("identity", {}), identity, scenario)
        if ranks.first:
            remove_later(folder, start.paths[0])
    return start


def _with_heartbeat(
    ranks: SerialCommunicator, choice: BackendChoice, discretization: Discretization, final: Path,
    report: Reporter,
) -> contextlib.AbstractContextManager[Reporter]:  # fmt: skip
    """Return the reporter of a rank; that of the first leaves signs of life in the run folder."""
    if not ranks.first:
        return contextlib.nullcontext(report)
    facts = {
        "results": final.name,
        "device": choice.note.partition("; ")[0] + f", {ranks.count} ranks" * ranks.has_others,
        "duration": discretization.clock.steps * discretization.clock.dt,
    }
    return Heartbeat(run_folder(final), facts, report)


def _shared(
    discretization: Discretization,
    backend: Backend,
    ranks: SerialCommunicator,
    report: Reporter,
    begun: Mapping[str, Any] | None = None,
) -> Discretization:
    """Let ranks share a run as suits all of them, and as it was begun; see `placement.place_run`.

    `begun`: facts of the run's beginning (`checkpoints.beginning_of`), of a run that goes on.
    """
    facts = begun or {}
    # Trial runs of layers may decide otherwise on another processor: the first rank's hold.
    decided = facts.get("layers", asdict(discretization.field_damping))
    layers = LayerDamping(**ranks.allgather(decided)[0])
    if layers != discretization.field_damping:
        discretization = ranks.same(partial(damped, discretization, layers))
    batch = facts.get("together")
    placed, why = ranks.same(lambda: place_run(discretization, backend, ranks, batch))
    if why:
        report(Progress("device", note=why))
    grids, batch = min(ranks.allgather((placed.grids, placed.batch)))
    if grids < ranks.count and (detour := ranks.detour(backend)):
        report(Progress("device", note=detour))
    return discretization.sharing(batch, grids)


def _run_in_passing(
    discretization: Discretization, report: Reporter, profile: Unprofiled, ranks: SerialCommunicator
) -> Results | None:
    """Run to a temporary file, without checkpoints."""
    memory = memory_of(discretization, profile.backend)
    if not ranks.first:
        Run(discretization, memory, Path(), report, profile, ranks).go()
        return None

    def write(path: Path) -> None:
        with profile.kept(path, report):
            Run(discretization, memory, path, report, profile, ranks).go()

    return temporary_results("results.h5", write)


def _is_complete(final: Path, identity: Mapping[str, Any], scenario: Scenario, begun: bool) -> bool:
    """Whether the results are there, and belong to this very run.

    Raises:
        ScenarioError: they are of another run, and this run has not begun to replace them.
    """
    if not final.exists():
        return False
    if (other := feature_results(final)) is not None and not begun:
        raise ScenarioError(f"{final}: {other.remedy}; replace it with --no-resume")
    try:
        with open_results(final) as results:
            same = results.attributes.get("identity") == digest(identity)
            complete = results.status == COMPLETE
            text = results.scenario
    except ScenarioError:
        return False
    if complete and not same and not begun:
        refuse_results(final, text, identity, scenario)
    return complete and same


def _published(folder: Path) -> Path | None:
    """Return the complete results of a run directory, which went with them."""
    results = folder.with_suffix("")
    if run_folder(results) != folder or not results.exists():
        return None
    with open_any(results) as opened:
        return results if opened.status == COMPLETE else None


def _complete_already(results: Path) -> Progress:
    return Progress("checkpoint", note=f"{results}: is complete already; nothing is left to do")
