"""Runs of other programs as scenarios: recognised by what they hold, written as commented YAML."""

from __future__ import annotations

from pathlib import Path

from seismo.errors import ModelError, ScenarioError
from seismo.formats.arrays.archive import convert_arrays, is_archive
from seismo.formats.conversion.converted_run import ConvertedRun
from seismo.formats.reading.text import read_lines
from seismo.formats.specfem.specfem3d import convert_specfem3d, parameter_file
from seismo.formats.sw4.sw4 import convert_sw4, is_sw4

_EXPECTED = "expected an input file of SW4, a run folder of SPECFEM3D, or an .npz"


def convert(
    source: Path, target: Path, axes: str | None = None, units: str | None = None
) -> ConvertedRun:
    """Return a run of another program as a scenario, which is not written yet.

    Args:
        source: the input of the other program.
        target: the scenario to be, a YAML file, beside which further files may come.
        axes: of arrays in an .npz, such as xz; None: zx or zyx.
        units: of their velocities, m/s or km/s; None: by their size.

    Raises:
        ScenarioError: it is no input that is known, or a line of it is malformed.
    """
    try:
        return _convert(source, target, axes, units)
    except ModelError as error:
        raise ScenarioError(error.problem) from None


def _convert(source: Path, target: Path, axes: str | None, units: str | None) -> ConvertedRun:
    if is_archive(source):
        run = ConvertedRun("NumPy", source, target)
        convert_arrays(run, axes, units)
        return run
    if axes or units:
        raise ScenarioError(f"--axes and --units are for arrays in an .npz; {source} is none")
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
