"""Bodies thinner than a cell: the error that is expected of them beside that of a finer run."""

import math

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import solver
from seismo.runs.prediction.accuracy import CLOSE_CONTACTS, expected_error
from seismo.runs.prediction.checks.odd_media import ODD_MEDIA
from seismo.runs.prediction.checks.thin_bodies import thin_fluids
from seismo.scenario import from_dict
from seismo.solver.discretize import discretize

ROCK = {"vp": 2400.0, "vs": 1200.0, "rho": 2000.0}
SOFT = {"vp": 1600.0, "vs": 600.0, "rho": 1500.0}
WATER = {"vp": 1500.0, "vs": 0.0, "rho": 1000.0}
AIR = {"vp": 340.0, "vs": 0.0, "rho": 1.2}
LENS = {"x": [100.0, 400.0], "z": [152.0, 157.0]}
TAKEN = {"elastic": ("vp", "vs", "rho"), "elastic_sh": ("vs", "rho"),
         "acoustic_variable_density": ("vp", "rho"), "acoustic": ("vp",)}  # fmt: skip


def document(part: dict, physics: str = "elastic", spacing: float = 10.0) -> dict:
    """Put a body into rock, with points every 10 m."""
    model = [{"type": "uniform", **ROCK}, part]
    others = {"type", "x", "y", "z", "points", "center", "radius", "interpolation"}
    elastic = physics != "acoustic" and "vs" in TAKEN[physics]
    force = {"type": "force", "force": {"y": 1e9} if physics == "elastic_sh" else {"z": 1e9}}
    return {
        "physics": physics, "precision": "float64",
        "grid": {"extent": {"x": 500.0, "z": 300.0}, "spacing": spacing},
        "time": {"duration": 0.7},
        "boundaries": {"layer": {"points": int(100.0 / spacing)}},
        "model": [{k: v for k, v in p.items() if k in others or k in TAKEN[physics]}
                  for p in model],
        "sources": [(force if elastic else {"type": "explosion"}) | {
            "position": {"x": 170.0, "z": 90.0},
            "wavelet": {"type": "ricker", "frequency": 6.0 if elastic else 12.0}}],
        "receivers": [solver.points(
            [{"x": 330.0, "z": 80.0}, {"x": 300.0, "z": 230.0}],
            quantities=["velocity" if elastic else "pressure"])],
    }  # fmt: skip


def expected(given: dict) -> dict[str, float]:
    return dict(expected_error(discretize(from_dict(given))).causes)


def traces(given: dict) -> tuple[np.ndarray, np.ndarray]:
    simulation = solver.simulate(given)
    recorded = np.stack(list(solver.traces(simulation).values()))
    return np.arange(recorded.shape[-1]) * simulation.dt, recorded


def found(part: dict, physics: str) -> float:
    """Return the error of the worst receiver beside a run of four times as many points."""
    times, coarse = traces(document(part, physics))
    finer_times, fine = traces(document(part, physics, 2.5))
    within = times <= finer_times[-1]
    wanted = CubicSpline(finer_times, fine, axis=-1)(times[within])
    axes = (0, 2)
    misfit = np.linalg.norm(coarse[..., within] - wanted, axis=axes)
    return float((misfit / np.linalg.norm(wanted, axis=axes)).max())


@pytest.mark.parametrize(
    ("part", "physics"),
    [
        ({"type": "block", **LENS, **SOFT}, "elastic"),
        ({"type": "block", **LENS, **SOFT}, "elastic_sh"),
        ({"type": "block", **LENS, **SOFT}, "acoustic_variable_density"),
        ({"type": "block", "x": [252.0, 257.0], "z": [50.0, 250.0], **SOFT}, "elastic"),
        pytest.param(
            {"type": "sphere", "center": {"x": 255.0, "z": 155.0}, "radius": 4.0, **AIR},
            "elastic", marks=pytest.mark.slow,
        ),
        ({"type": "block", "x": [252.0, 258.0], "z": [102.0, 158.0], **WATER}, "elastic_sh"),
    ],
    ids=["lens", "SH", "fluids", "dyke", "air", "SH beside water"],
)  # fmt: skip
def test_the_error_of_bodies_between_nodes_is_found(part, physics) -> None:
    causes = expected(document(part, physics))
    told, actual = math.hypot(*causes.values()), found(part, physics)
    assert causes[CLOSE_CONTACTS] > 0.9 * told
    assert actual / 3 < told < 3 * actual


def same_lens(kind: str) -> dict:
    """Give the lens of 5 m as a block, a polygon, or two cells of a file."""
    (left, right), (top, bottom) = LENS.values()
    if kind == "block":
        return {"type": "block", **LENS, **SOFT}
    corners = [[left, top], [right, top], [right, bottom], [left, bottom]]
    return {"type": "polygon", "points": corners, **SOFT}


@pytest.mark.parametrize(("interpolation", "ratio"), [("cells", 1.0), ("linear", 4.0)])
def test_cells_of_files_count_as_bodies_do(tmp_path, interpolation, ratio) -> None:
    """Files that are interpolated have averages that know no direction."""
    wanted = expected(document(same_lens("block")))[CLOSE_CONTACTS]
    assert expected(document(same_lens("polygon")))[CLOSE_CONTACTS] == pytest.approx(
        wanted, rel=0.1
    )
    x, z = np.arange(0.0, 501.0, 2.5), np.arange(0.0, 301.0, 2.5)
    inside = ((z > 151.0) & (z < 156.0))[:, None] & ((x > 100.0) & (x < 400.0))
    part = {"type": "file", "interpolation": interpolation}
    for name, value in ROCK.items():
        np.save(tmp_path / f"{name}.npy", np.where(inside, SOFT[name], value).astype(np.float32))
        part[name] = {"path": str(tmp_path / f"{name}.npy"), "spacing": 2.5}
    told = expected(document(part))[CLOSE_CONTACTS]
    assert told == pytest.approx(ratio * wanted, rel=0.5)


def test_a_bed_in_three_dimensions_errs_as_in_two() -> None:
    everywhere = [-1e5, 1e5]
    bed = {"type": "block", "x": everywhere, "z": LENS["z"], **SOFT}
    flat = document(bed)
    solid = document(bed | {"y": everywhere})
    solid["grid"]["extent"]["y"] = 200.0
    for place in (solid["sources"][0]["position"], *solid["receivers"][0]["positions"]):
        place["y"] = 100.0
    wanted = expected(flat)[CLOSE_CONTACTS]
    assert expected(solid)[CLOSE_CONTACTS] == pytest.approx(wanted, rel=0.5)


def test_what_has_cells_of_its_own_is_not_thin() -> None:
    for part in (
        {"type": "block", "x": [100.0, 400.0], "z": [120.0, 180.0], **SOFT},
        {"type": "gradient", "z_top": 0.0, "z_bottom": 300.0,
         **{name: {"top": value, "bottom": 2 * value} for name, value in SOFT.items()}},
    ):  # fmt: skip
        assert expected(document(part))[CLOSE_CONTACTS] == 0.0


def test_a_body_of_fluid_that_is_thinner_than_a_cell_is_named() -> None:
    water = {"type": "block", "x": [100.0, 400.0], "z": [152.0, 155.0], **WATER}
    discretization = discretize(from_dict(document(water)))
    (line,) = thin_fluids(discretization)
    assert line.startswith("model[1]")
    assert "grid.spacing" in line
    assert line in [said for look in ODD_MEDIA for said in look(discretization, [])]
    assert expected_error(discretization).error > 0.5
    assert not list(thin_fluids(discretize(from_dict(document(same_lens("block"))))))


@pytest.mark.parametrize(
    "part",
    [
        {"type": "block", "x": [220.0, 300.0], "z": [120.0, 180.0], **WATER},
        {"type": "sphere", "center": {"x": 255.0, "z": 155.0}, "radius": 40.0, **WATER},
        {"type": "block", "x": [-1e5, 1e5], "z": [250.0, 1e5], **WATER},
    ],
    ids=["cave", "round", "half-space"],
)
def test_fluids_beside_sh_waves_have_no_waves(part) -> None:
    causes = expected(document(part, "elastic_sh"))
    assert all(math.isfinite(error) for error in causes.values())
    assert not any("nan" in what for what in causes)
    assert causes["contacts of media"] > 0.01


def test_an_ocean_in_layers_beside_sh_waves_has_an_error() -> None:
    layers = [{"top": 0.0, "vs": 0.0, "rho": 1000.0}, {"top": 50.0, "vs": 1200.0, "rho": 2000.0}]
    given = document(same_lens("block"), "elastic_sh")
    given["model"] = [{"type": "layers", "layers": layers}]
    assert math.isfinite(expected_error(discretize(from_dict(given))).error)
