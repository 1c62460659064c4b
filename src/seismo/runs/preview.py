"""What a run would hold besides waves, to be looked at before it is started."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path

from seismo.output.results import Results, open_results
from seismo.output.results_file import ResultsWriter
from seismo.runs import file_contents
from seismo.runs.assessment import assess
from seismo.scenario import ScenarioInput, load
from seismo.solver.discretization import discretize

KINDS = ("model", "wavelets")  # figures that need no waves
STATUS = "preview"


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
    checked = load(scenario)
    setup = discretize(checked)
    stem = Path(scenario).stem if isinstance(scenario, str | Path) else "scenario"
    folder = tempfile.mkdtemp(prefix="seismo-")
    path = Path(folder) / f"{stem}.h5"
    try:
        attributes = file_contents.attributes_of(setup, assess(setup))
        with ResultsWriter(
            path, scenario_text=checked.text, resolved=checked.to_yaml(), attributes=attributes
        ) as writer:
            writer.write_model(*file_contents.model_of(setup))
            file_contents.write_sources(writer, setup)
            file_contents.create_traces(writer, setup)
            writer.finish({}, {"status": STATUS, "message": "nothing has been computed"})
        results = open_results(path)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(results, shutil.rmtree, folder, ignore_errors=True)
    return results
