"""The error that `check` expects of the free surface of a run with topography.

Level ground has an exact solution; under topography the rows of its surface are closed as under
hills. What hills make of it was found against grids three times finer in a wider region.
"""

import numpy as np
import pytest

import flat_layers
import solver
from seismo.exact.medium import Medium
from seismo.runs.prediction.accuracy import expected_error
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize

ROCK = Medium(900.0, 500.0, 1900.0)
FREQUENCY = 10.0
SHEAR = {"type": "moment_tensor", "components": {"xz": 1e12}}
ACROSS = {"type": "force", "force": {"x": 1e9}}


def scenario(source: dict, points: float, height: float, width: float = 19.0) -> dict:
    """Give a source 60 cells below ground with a hill; lengths in cells."""
    h = ROCK.vs / (2.5 * FREQUENCY) / points
    hill = {"center": {"x": 60.0 * h}, "height": height * h, "width": width * h}
    return {
        "physics": "elastic", "precision": "float64",
        "grid": {"extent": {"x": 110.0 * h, "z": 75.0 * h}, "spacing": h, "order": 8},
        "time": {"duration": 90.0 * h / ROCK.vs + 2.5 / FREQUENCY},
        "boundaries": {"top": "free_surface"},
        "topography": {"type": "hills", "hills": [hill]},
        "model": [{"type": "uniform", "vp": ROCK.vp, "vs": ROCK.vs, "rho": ROCK.rho}],
        "sources": [source | {"position": {"x": 50.3 * h, "z": 60.2 * h},
                              "wavelet": {"type": "ricker", "frequency": FREQUENCY}}],
        "receivers": [solver.points([{"x": n * h} for n in (20.0, 45.0, 52.0, 63.0)],
                                    quantities=["velocity"])],
    }  # fmt: skip


@pytest.mark.parametrize(("source", "points"), [(SHEAR, 5.0), (ACROSS, 7.0)])
def test_waves_from_below_err_at_a_surface_as_its_rows_say(source, points) -> None:
    """Waves that come up steeply meet the largest errors of plain rows, at 5 points most of all."""
    run = solver.simulate(scenario(source, points, 1e-6))
    places = np.array([[x, 0.0] for x in run.discretization.groups[0].coordinates[:, 0]])
    found = max(flat_layers.errors(run, [ROCK], [0.0], places=places, cut=1e-5))
    assert found / 1.5 < expected_error(run.discretization).error < 2.0 * found


@pytest.mark.parametrize(
    ("source", "points", "height", "found"),
    [(SHEAR, 5.0, 3.4, 0.0461), (ACROSS, 7.0, 5.0, 0.0083)],
)
def test_hills_err_as_much_as_finer_grids_find(source, points, height, found) -> None:
    expected = expected_error(discretize(from_dict(scenario(source, points, height)))).error
    assert found / 1.5 < expected < 1.5 * found
