"""Runs of other programs as scenarios: recognised by what they hold, written as commented YAML."""

from __future__ import annotations

from pathlib import Path

from seismo.errors import ModelError, ScenarioError
from seismo.scenario.convert.converted_run import ConvertedRun
from seismo.scenario.convert.specfem3d import convert_specfem3d, parameter_file
from seismo.scenario.convert.sw4 import convert_sw4, is_sw4
from seismo.scenario.text_files import read_lines

_EXPECTED = "expected an input file of SW4, or a run folder of SPECFEM3D"


def convert(source: Path, target: Path) -> ConvertedRun:
    """Return a run of another program as a scenario, which is not written yet.

    Args:
        source: the input of the other program.
        target: the scenario to be, a YAML file, beside which further files may come.

    Raises:
        ScenarioError: it is no input that is known, or a line of it is malformed.
    """
    try:
        return _convert(source, target)
    except ModelError as error:
        raise ScenarioError(error.problem) from None


def _convert(source: Path, target: Path) -> ConvertedRun:
    par_file = parameter_file(source)
    if par_file is not None:
        run = ConvertedRun("SPECFEM3D", source, target)
        convert_specfem3d(run, par_file)
        return run
    if source.is_dir():
        raise ScenarioError(f"{source}: has no Par_file; {_EXPECTED}")
    lines = read_lines(source, _EXPECTED)
    if is_sw4(lines):
        run = ConvertedRun("SW4", source, target)
        convert_sw4(run, lines)
        return run
    raise ScenarioError(f"{source}: is of no program that is known here; {_EXPECTED}")
