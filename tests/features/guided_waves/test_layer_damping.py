"""Damping of the fields in absorbing layers that a scenario gives, and what it changes."""

import numpy as np
import pytest

import seismo
import solver
from seismo.errors import ScenarioError, ScenarioWarning, UnstableError
from seismo.features.guided_waves import guides
from seismo.solver.medium.cpml import AXES, profiles, strength

ROWS = {"top": 0.0, "vp": 600.0, "vs": 300.0, "rho": 2000.0}
SOFT = [{"type": "layers", "layers": [ROWS, {**ROWS, "top": 50.0, "vp": 4000.0, "vs": 2000.0}]}]


def document(damping: float | None, **changes) -> dict:
    """Return 1000 s of soft ground on rock."""
    layer = {"points": 12} | ({} if damping is None else {"damping": damping})
    boundaries = solver.faces(2, top="free_surface") | {"layer": layer}
    plan = solver.plan("elastic", 2, boundaries=boundaries, steps=None, time={"duration": 1000.0})
    return plan | {"model": SOFT} | changes


@pytest.mark.parametrize("damping", [0.0, 0.002])
def test_the_damping_is_the_one_given(damping):
    discretization = solver.discretize(solver.from_dict(document(damping)))
    usual = solver.discretize(solver.from_dict(document(None)))
    assert discretization.layer_phases == ((0, damping),)
    assert usual.layer_phases[-1][1] > 0.003
    # m = exp(-p d dt) at the nodes: 1 everywhere without damping.
    kept = profiles(discretization)[0][AXES[0]][6]
    assert (kept.min() < 1.0) == (damping > 0.0)


@pytest.mark.usefixtures("no_remedies")
def test_check_warns_of_little_damping():
    warned = [
        [line for line in seismo.check(document(damping)).warnings if "layer.damping" in line]
        for damping in (None, 0.0, 0.5)
    ]
    assert [len(lines) for lines in warned] == [0, 1, 0]
    assert "0 is less than the 0.015" in warned[1][0]


def test_equations_of_second_order_have_none():
    boundaries = solver.faces(2) | {"layer": {"damping": 0.1}}
    with pytest.raises(ScenarioError, match=r"boundaries\.layer\.damping: .*second order"):
        solver.discretize(solver.from_dict(solver.plan("acoustic", 2, boundaries=boundaries)))


def test_matched_layers_reflect_less():
    """Waves along soft ground, against those of a grid whose ends nothing comes back from."""
    layers = [ROWS, {**ROWS, "top": 30.0, "vp": 3000.0, "vs": 1500.0}]

    def traces(damping: float, length: float) -> np.ndarray:
        plan = {
            "physics": "elastic",
            "grid": {"extent": {"x": length, "z": 300.0}, "spacing": 10.0, "order": 8},
            "time": {"duration": 3.0},
            "boundaries": {"top": "free_surface", "layer": {"points": 24, "damping": damping}},
            "model": [{"type": "layers", "layers": layers}],
            "sources": [{"type": "force", "force": {"z": 1e9}, "position": {"x": 200.0, "z": 20.0},
                         "wavelet": {"type": "ricker", "frequency": 4.0}}],
            "receivers": [{"type": "points", "name": "r", "quantities": ["velocity"],
                           "positions": [{"x": 500.0, "z": 0.0}]}],
        }  # fmt: skip
        simulation = solver.build(plan)
        simulation.advance(simulation.total_steps)
        return np.stack([simulation.recorder.raw(0, "r", name) for name in ("vx", "vz")])

    endless = traces(0.0, 4000.0)
    damped, matched = (
        np.linalg.norm(traces(share, 700.0) - endless) / np.linalg.norm(endless)
        for share in (0.05, 0.0)
    )
    assert matched < 0.5 * damped


def test_a_run_ends_where_waves_grow_in_a_layer(tmp_path):
    """Backward waves of a plate on a rigid bottom, whose layers damp no fields: by its face."""
    plan = solver.plan(
        "elastic", 2, steps=None, time={"duration": 6.0}, cells=(30, 10),
        grid={"extent": {"x": 300.0, "z": 100.0}, "spacing": 10.0, "order": 8},
        boundaries=solver.faces(2, top="free_surface", bottom="rigid") | {
            "layer": {"points": 12, "damping": 0.0}},
        model=[{"type": "uniform", "vp": 2595.0, "vs": 1500.0, "rho": 2000.0}],
        sources=[{"type": "force", "position": {"x": 120.0, "z": 60.0}, "force": {"z": 1.0},
                  "wavelet": {"type": "ricker", "frequency": 1.5}}],
        receivers=[solver.points([{"x": 50.0, "z": 50.0}])],
    )  # fmt: skip
    with (
        pytest.warns(ScenarioWarning),
        pytest.raises(
            UnstableError, match=r"\(x_m(in|ax)\).*; kept are the traces until"
        ) as caught,
    ):
        seismo.run(plan, output=tmp_path / "grown.h5")
    assert caught.value.exit_code == 3


def beside_a_seam(steps: int):
    """Discretize a soft seam in rock, with layers that are damped by default."""
    rock = {"top": 0.0, "vp": 3000.0, "vs": 1700.0, "rho": 2400.0}
    seam = {"top": 100.0, "vp": 2000.0, "vs": 900.0, "rho": 1400.0}
    plan = solver.plan("elastic", 2, boundaries=solver.faces(2), steps=steps)
    model = [{"type": "layers", "layers": [rock, seam, {**rock, "top": 130.0}]}]
    layer = {"layer": {"points": 12}}
    return solver.discretize(
        solver.from_dict(plan | {"model": model, "boundaries": plan["boundaries"] | layer})
    )


def test_layers_beside_a_seam_damp_in_their_outer_part_at_first():
    discretization = beside_a_seam(4000)
    assert [first for first, _ in discretization.layer_phases] == [0, 1500, 3000]
    # m < 1 at the nodes: of 12 none, then the two outer ones, and all later.
    kept = [phase[AXES[0]][6][:12] for phase in profiles(discretization)]
    assert [int((m < 1.0).sum()) for m in kept] == [0, 2, 12]


def test_layers_beside_a_seam_have_little_alpha_until_they_are_damped_everywhere():
    """A change of it while long waves are in a layer sends these back."""
    discretization = beside_a_seam(4000)
    early, outer, late = (
        strength(discretization, damping) for _, damping in discretization.layer_phases
    )
    assert early.least_shift == outer.least_shift < late.least_shift
    assert early.alpha_drop == outer.alpha_drop > late.alpha_drop


def test_small_turns_of_a_column_are_no_beds():
    wiggles = np.array([1.0, 1.5, 1.0, 3.0, 2.0, 3.5, np.nan, 1.0, 1.9, 1.2])[:, None]
    turned = guides.without_small_turns(wiggles)[:, 0]
    np.testing.assert_array_equal(turned, [1.0, 1.5, 1.5, 3.0, 3.0, 3.5, np.nan, 1.0, 1.0, 1.0])
