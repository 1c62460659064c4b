"""Previews: model, wavelets and receivers of a run, before it is started."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from seismo.output.results import Results, temporary_results
from seismo.output.results_file import ResultsWriter
from seismo.output.run_results import PREVIEW
from seismo.runs.check import load_placed
from seismo.runs.file_contents import (
    attributes_of,
    create_traces,
    model_of,
    write_ground,
    write_sources,
)
from seismo.runs.prediction.assess import assess, unsought
from seismo.scenario import Scenario, ScenarioInput
from seismo.solver.discretization import Discretization
from seismo.solver.discretize import discretize

PREVIEWED = ("model", "wavelets")  # figures that need no waves


def preview(scenario: ScenarioInput) -> Results:
    """Return model, sources, wavelets and receivers of a scenario, as its results would hold them.

    Its figures are `preview(scenario).plot("model")` and `.plot("wavelets")`. Nothing is computed;
    traces and maps are empty. The file is a temporary one that lives as long as the returned
    object.

    Args:
        scenario: a scenario, the same as nested dicts, or the path of its YAML file.

    Raises:
        ScenarioError: the scenario, or a file that it names, will not do.
    """
    checked = load_placed(scenario)
    discretization = discretize(checked)
    stem = Path(scenario).stem if isinstance(scenario, str | Path) else "scenario"
    return temporary_results(f"{stem}.h5", partial(_write, checked, discretization))


def _write(scenario: Scenario, discretization: Discretization, path: Path) -> None:
    attributes = attributes_of(discretization) | assess(discretization, unsought).attributes
    with ResultsWriter(
        path, scenario_text=scenario.text, resolved=scenario.to_yaml(), attributes=attributes
    ) as writer:
        writer.write_model(*model_of(discretization))
        write_ground(writer, discretization)
        write_sources(writer, discretization)
        create_traces(writer, discretization)
        writer.finish({}, {"status": PREVIEW, "message": "nothing has been computed"})
