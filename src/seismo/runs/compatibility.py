"""The identity of a run: all that must be the same to go on from a checkpoint to the same bits.

That is the scenario with all its defaults and the files it names; the time step and the grid that
follow from it; the backend; and the program, down to the text of its kernels. Where results go and
how often checkpoints are written may change, and how the grid is cut.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

import yaml

from seismo.backends.base import Backend
from seismo.backends.kernel_cache import source_digest
from seismo.errors import KeyPath, ScenarioError
from seismo.model.files import files_of_volume
from seismo.output import package_version
from seismo.output.run_results import RunResults
from seismo.scenario import Scenario, load
from seismo.scenario.mistakes.error_messages import key_path
from seismo.scenario.scenario_facts import named_files
from seismo.scenario.strict_yaml import shortened
from seismo.solver.discretization import Discretization

_OVER = "start over with --no-resume"
_OWN = "the checkpoint is"


def identity_of(discretization: Discretization, backend: Backend) -> dict[str, Any]:
    """Return all that must be the same, as JSON holds it."""
    clock = discretization.clock
    return {
        "program": {name: package_version(name) for name in ("seismo", "numpy", "numba")}
        | {"kernels": source_digest()},
        "backend": backend.name,
        "scenario": _plain(_dumped(discretization.scenario)),
        "files": {label: _digest(discretization.scenario, *file)
                  for label, file in _files(discretization.scenario).items()},
        "run": {"dt": clock.dt, "steps": discretization.total_steps,
                "points": [list(grid.grid.points) for grid in discretization.grids_of_spacing],
                "shots": [shot.name for shot in discretization.shots],
                "differences": [_differences(grid) for grid in discretization.grids_of_spacing]},
    }  # fmt: skip


def _differences(discretization: Discretization) -> str:
    """Return a digest of the difference coefficients, and of the surface closure."""
    closure = discretization.closure
    arrays = [*map(discretization.stencil.along, discretization.stencil.bounded)]
    arrays += [discretization.stencil.first, discretization.stencil.second]
    arrays += [closure.up, closure.down] if closure else []
    return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()


def digest(identity: Mapping[str, Any]) -> str:
    """Return the identity as a short text."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()


def refuse_results(
    final: Path, text: str, identity: Mapping[str, Any], scenario: Scenario
) -> NoReturn:
    """Refuse to replace complete results of another run.

    Args:
        final: the results.
        text: the scenario in the results, with all its defaults.
        identity: the identity of the run.
        scenario: the scenario of the run.

    Raises:
        ScenarioError: it names where and how the scenarios differ, if they do.
    """
    stored = {**identity, "scenario": _plain(yaml.safe_load(text))}
    refuse_another(stored, identity, scenario, f"{final} is complete, and")
    raise ScenarioError(
        f"{final}: is complete, and of this scenario by other versions of seismo, NumPy or Numba, "
        f"on another backend, of other shots, or with files that have changed since; {_OVER}"
    )


def replaced(final: Path, identity: Mapping[str, Any]) -> str:
    """Name the other scenario whose results a run will replace; nothing for its own.

    Args:
        final: where its results go.
        identity: the identity of the run.
    """
    if not final.exists():
        return ""
    try:
        with RunResults(final) as results:
            stored = _plain(yaml.safe_load(results.scenario))
            when = str(results.provenance.get("created", "unknown date"))[:16].replace("T", " ")
    except (ScenarioError, yaml.YAMLError, AttributeError, LookupError, TypeError):
        return ""  # damaged: nothing is lost
    changes = list(differences(stored, identity["scenario"]))
    if not changes:
        return ""
    more = f", and {len(changes) - 1} more" * (len(changes) > 1)
    return (
        f"{final}: holds results of another scenario, of {when} "
        f"(its {described(changes[0])}{more}), which are replaced when this run is complete"
    )


def described(change: tuple[KeyPath, Any, Any]) -> str:
    """Describe a key before a change, such as ``grid.order 4``."""
    path, before, _ = change
    return f"{key_path(path)} {'nothing' if before is None else shortened(before)}"


def refuse_another(
    stored: Mapping[str, Any], identity: Mapping[str, Any], scenario: Scenario,
    subject: str = _OWN,
) -> None:  # fmt: skip
    """Compare a run with the run of a checkpoint.

    Args:
        stored: the identity in the checkpoint.
        identity: the identity of the run.
        scenario: the scenario of the run.
        subject: that is of the other run.

    Raises:
        ScenarioError: they differ; it names where and how.
    """
    _refuse_changes(stored.get("scenario"), identity["scenario"], scenario, subject)
    for label, (path, name) in _files(scenario).items():
        if stored.get("files", {}).get(label) != identity["files"][label]:
            raise scenario.mistake(
                *path, problem=f"{name} has changed since the run began; put it back, or {_OVER}"
            )
    for path, before, now in differences(stored, identity):
        key = " ".join(map(str, path))
        raise ScenarioError(
            f"the checkpoint is of another run: {key} was {before}, and is {now} now; go on with "
            f"what it was, or {_OVER}"
        )


def refuse_edited(begun: Scenario, path: Path) -> None:
    """Refuse to go on with a run whose scenario file means something else by now.

    Args:
        begun: the scenario of the run.
        path: of the file that it was read from; without it the run goes on.

    Raises:
        ScenarioError: it names where and how the file differs; or as `load` does.
    """
    if path.is_file():
        edited = load(path)
        _refuse_changes(_plain(_dumped(begun)), _plain(_dumped(edited)), edited, _OWN)


def _refuse_changes(before: Any, now: Any, scenario: Scenario, subject: str) -> None:
    """Raise ScenarioError for the first key of a scenario that was another."""
    for path, value, _ in differences(before, now):
        if path[-1] == "sha256":
            problem = f"{subject} of a run with another array; give that, or {_OVER}"
            raise scenario.mistake(*path[:-1], problem=problem)
        written = "nothing" if value is None else json.dumps(value)
        raise scenario.mistake(
            *path, problem=f"{subject} of a run with {written}; write that, or {_OVER}"
        )


def differences(before: Any, now: Any, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Any, Any]]:
    """Walk through the leaves that differ, with None for a missing leaf."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in dict.fromkeys([*before, *now]):
            yield from differences(before.get(key), now.get(key), (*path, key))
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for number, pair in enumerate(zip(before, now, strict=True)):
            yield from differences(*pair, (*path, number))
    elif before != now:
        yield path, before, now


def _dumped(scenario: Scenario) -> dict[str, Any]:
    return scenario.model_dump(mode="json", exclude_none=True)


def _plain(plain: dict[str, Any]) -> dict[str, Any]:
    """Remove the keys that may change from a resolved scenario."""
    plain.pop("checkpoint")
    plain["output"].pop("path", None)
    plain["grid"].pop("decomposition", None)
    plain.get("survey", {}).pop("spread", None)
    return plain


def _files(scenario: Scenario) -> dict[str, tuple[KeyPath, str]]:
    """Return the key and the name of each file that a scenario reads, by a label of its own."""
    files = {".".join(map(str, key)): (key, name) for key, name in named_files(scenario)}
    for index, section in enumerate(scenario.model):
        if section.type == "volume":
            key = ("model", index, "path")
            _, *further = files_of_volume(section, scenario.resolve(section.path))
            files |= {f"model.{index}.path {n}": (key, str(n)) for n in further}
    return files


def _digest(scenario: Scenario, path: KeyPath, name: str) -> str:
    try:
        with scenario.resolve(name).open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise scenario.mistake(*path, problem=f"cannot be read: {error.strerror}") from error
