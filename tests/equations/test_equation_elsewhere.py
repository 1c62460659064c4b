"""An equation that is no part of seismo: a folder that declares it, which no file of seismo names.

Waves in a fluid that relaxes have a parameter of their own (`tau`), options of their own
(`relaxation_time`) and a memory variable. They are taken through check, run, plot, cuts of the
grid, NumPy and the compiler of the GPU's kernels in another process, which finds the folder as a
user's would (`elsewhere_steps.py`), and compared with the exact pressure of such a fluid.
"""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import seismo.equations
from seismo.equations.framework.parameters import VP
from seismo.equations.framework.registry import (
    EQUATIONS,
    PARAMETERS,
    declared,
    parameters_of,
)

SUPPORT = Path(__file__).parents[1] / "support"


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("elsewhere")
    shutil.copytree(SUPPORT / "elsewhere", folder / "equations")
    done = subprocess.run(
        [sys.executable, str(SUPPORT / "elsewhere_steps.py"), str(folder)],
        env=os.environ | {"SEISMO_EQUATIONS": str(folder / "equations")},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_it_is_known_where_its_folder_is_listed_only(found):
    assert "relaxing_fluid" not in EQUATIONS
    assert "tau" not in PARAMETERS


def test_a_folder_without_an_equation_is_refused(tmp_path):
    with pytest.raises(ImportError, match="holds no folder of an equation; see SEISMO_EQUATIONS"):
        declared([str(tmp_path)])


def test_an_equation_is_there_once():
    with pytest.raises(ImportError, match="equation acoustic is there twice"):
        declared([*seismo.equations.__path__, *seismo.equations.__path__])


def test_a_parameter_is_the_same_in_all_equations():
    other = replace(EQUATIONS["acoustic"], parameters=(replace(VP, unit="km/s"),))
    with pytest.raises(ImportError, match="declares the parameter vp otherwise than another"):
        parameters_of([other])


def test_it_is_checked_run_and_plotted(found):
    assert found["codes"] == [0, 0, 0]
    assert found["figures"] == ["s-gather.png", "s-snapshot.png"]
    assert found["memory"] > 0.0
    unit, largest = found["relaxation"]
    assert unit == "Pa"
    assert largest > 0.0


def test_it_is_exact(found):
    """At 1 / 3 of the stable step; the step's square is what a memory variable errs by."""
    assert found["error"] < 0.003


def test_lanes_equal_numpy_and_cuts_the_whole(found):
    assert found["of NumPy"] < 1e-5
    assert found["cut"] == []


def test_its_kernels_are_compiled_for_a_gpu(found):
    """Without float64 and without local memory."""
    count, *wrong = found["kernels"]
    assert int(count) >= 2
    assert not wrong


def test_its_keys_are_in_the_reference(found):
    assert "tau at `z_top` and above" in found["reference"]
    assert "`relaxation_time` | a number | `0.01`" in found["reference"]


def test_its_mistakes_are_told(found):
    other, misspelt, large, stress = found["refused"]
    assert "options of physics relaxing_fluid, not acoustic: leave it out" in other
    assert "unknown key; did you mean 'relaxation_time'?" in misspelt
    assert "model[0].tau: 2.0: must be a number, at least 0, at most 1" in large
    assert "physics relaxing_fluid records pressure, velocity" in stress
