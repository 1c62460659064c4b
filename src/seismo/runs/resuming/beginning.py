"""How a run was begun, as each of its checkpoints says it, and `seismo resume` goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from seismo.errors import StorageError
from seismo.runs.resuming.checkpoints import last_header
from seismo.scenario import Scenario
from seismo.solver.discretization import Discretization

_NEEDED = ("results", "backend", "text", "file")


def beginning_of(discretization: Discretization, **chosen: Any) -> dict[str, Any]:
    """Return what every checkpoint says of the beginning of a run, with what was chosen then."""
    scenario = discretization.scenario
    name = "scenario.yaml" if scenario.path is None else scenario.path.name
    return {
        "text": scenario.text,
        "file": str(scenario.base.resolve() / name),
        "as_file": _is_as_file(scenario),
        "together": discretization.batch,
        **chosen,
    }


def read_beginning(folder: Path) -> dict[str, Any]:
    """Return what the newest readable checkpoint of a run says of itself.

    Raises:
        ScenarioError: there is none.
        StorageError: none can be read, or it does not say what it takes to go on.
    """
    header = last_header(folder)
    if lacking := [name for name in _NEEDED if not isinstance(header.get(name), str)]:
        raise StorageError(
            f"{folder}: its checkpoint does not say its {', '.join(lacking)}; start over: "
            "seismo run ... --no-resume"
        )
    return header


def _is_as_file(scenario: Scenario) -> bool:
    """Whether a scenario is what its file says; one that was changed in Python is not."""
    path = scenario.path
    return (
        path is not None
        and path.is_file()
        and path.read_bytes().decode("utf-8-sig", "replace") == scenario.text
    )
