"""Acoustic waves under ground that slopes, on which the pressure vanishes.

*Dips.* Under a plane the exact solution is that of a whole space less the wave of an image source
about the plane. `acoustic` is read by its pressure below the ground; of variable density, 2-D and
3-D, motion is read on the slope, too. Geometry as in `dipping_ground.py`: up to nine shortest
wavelengths away, in 3-D four. Dip 0 tells what the same rows err by where the surface is an image.

*Hills and canyons* against the method of fundamental solutions (`curved_surface.py`), with the
pressure on the surface in place of the traction; three grids show the order of convergence.
"""

from __future__ import annotations

from dataclasses import replace

import cases
import curved_surface
import dipping_ground
import hills
import numpy as np

from seismo.exact import acoustic, metrics

SPEED = dipping_ground.ROCK.vs
RHO = dipping_ground.ROCK.rho
SHORTEST = dipping_ground.SHORTEST
SHALLOWEST = 0.3  # shortest wavelengths below the ground, of pressure
# By quantity and order: the worst receiver, and all together.
BARS = {
    ("pressure", 8): (0.001, 0.0006), ("pressure", 4): (0.005, 0.002),
    ("velocity", 8): (0.015, 0.01), ("velocity", 4): (0.03, 0.02),
}  # fmt: skip
HILL_BARS = {8: 0.0006, 4: 0.003}
PLANE = dipping_ground.PSV
SPACE = replace(dipping_ground.SPACE, ppw=10)


def sounding(document: dict, quantity: str) -> dict:
    """Turn a scenario of elastic waves into one of a fluid, with a source of pressure."""
    (source,) = document["sources"]
    del source["force"]
    source["type"] = "pressure"
    fluid = {"vp": SPEED} | ({"rho": RHO} if quantity == "velocity" else {})
    document["receivers"][0]["quantities"] = [quantity]
    return document | {
        "title": "acoustic waves under a slope", "model": [{"type": "uniform", **fluid}],
        "physics": "acoustic" if quantity == "pressure" else "acoustic_variable_density",
        "precision": "float64" if "y" not in document["grid"]["extent"] else "float32",
    }  # fmt: skip


def geometry_of(dimensions: int, quantity: str) -> dipping_ground.Geometry:
    """Return source and receivers in the frame of the slope; pressure is read below it."""
    geometry = PLANE if dimensions == 2 else SPACE
    if quantity == "velocity":
        return geometry
    receivers = geometry.receivers.copy()
    receivers[:, -1] = np.maximum(receivers[:, -1], SHALLOWEST)
    return replace(geometry, receivers=receivers)


def compare(
    geometry: dipping_ground.Geometry, quantity: str, dip: float, azimuth: float, order: int
) -> tuple[cases.Run, np.ndarray, np.ndarray]:
    """Run one dip; return the run, traces and exact ones (receiver, component, time)."""
    document = dipping_ground.scenario(geometry, dip, azimuth, order)
    run = cases.simulate(sounding(document, quantity))
    source = SHORTEST * geometry.source
    receivers = SHORTEST * geometry.receivers
    image = source * np.where(np.arange(source.size) == source.size - 1, -1.0, 1.0)
    if quantity == "pressure":
        exact = acoustic.half_space_pressure(receivers, source, run.source, run.dt, SPEED)
        return run, run.components("pressure"), exact[:, None]
    direct, reflected = (
        acoustic.velocity(receivers - start, run.source, run.dt, SPEED, RHO)
        for start in (source, image)
    )
    axes = geometry.axes
    matrix = dipping_ground.turn(np.radians(dip), np.radians(azimuth), len(axes))
    traces = run.components(*(f"v{axis}" for axis in axes))
    return run, traces, np.einsum("ij,rjt->rit", matrix, direct - reflected)


def rows_of(
    dimensions: int, quantity: str, dip: float, azimuth: float, order: int, **changes: object
) -> list[cases.Row]:
    """Compare one dip; return its rows."""
    geometry = replace(geometry_of(dimensions, quantity), **changes)
    _, traces, exact = compare(geometry, quantity, dip, azimuth, order)
    errors = [metrics.relative_l2(a, b) for a, b in zip(traces, exact, strict=True)]
    name = f"{quantity}, {dimensions}-D, dip {dip:g} degrees"
    name += f" towards {azimuth:g}" if dimensions == 3 else ""
    worst, together = BARS[quantity, order]
    sampling = f"{geometry.ppw} ppw, order {order}"
    return [
        cases.Row(f"{name}, worst of {len(errors)} receivers", sampling, max(errors), worst,
                  reference="image source"),
        cases.Row(f"{name}, all receivers together", sampling,
                  metrics.relative_l2(traces, exact), together, reference="image source"),
    ]  # fmt: skip


def buried(hill: hills.Hill) -> hills.Hill:
    """Return a hill whose receivers stand below the ground."""
    receivers = tuple((x, max(depth, SHALLOWEST)) for x, depth in hill.receivers)
    return replace(hill, receivers=receivers)


def reference(hill: hills.Hill) -> hills.Reference:
    """Solve for the pressure under a hill by fundamental solutions."""
    dt = 1 / (60.0 * hills.FREQUENCY)
    times = np.arange(np.ceil(hill.duration / dt) + 3) * dt
    phase = (np.pi * hills.FREQUENCY * (times - hills.DELAY)) ** 2
    pressures = curved_surface.pressure_response(
        hill.surface, hill.positions((hill.source,)), hill.positions(hill.receivers),
        (1 - 2 * phase) * np.exp(-phase), dt, SPEED,
    )  # fmt: skip
    return hills.Reference(times, pressures[:, None])


def on_hill(hill: hills.Hill, order: int, ppw: float) -> tuple[cases.Run, np.ndarray]:
    """Run a hill; return the run and the pressure (receiver, component, time)."""
    document = hills.scenario(hill, "SH", order, ppw)
    run = cases.simulate(sounding(document, "pressure"))
    return run, run.components("pressure")


def hill_rows(hill: hills.Hill, quick: bool) -> list[cases.Row]:
    """Compare one hill at both orders, and how errors fall with the spacing."""
    hill = buried(hill)
    wanted = reference(hill)
    samplings = (10,) if quick else hills.SAMPLINGS
    rows = []
    for order in (8,) if quick else (8, 4):
        errors = []
        for ppw in samplings:
            run, traces = on_hill(hill, order, ppw)
            errors.append(metrics.relative_l2(traces, wanted.at(run.times)))
            if ppw == 10:
                rows.append(cases.Row(
                    f"{hill.name}, pressure, all receivers", f"{ppw} ppw, order {order}",
                    errors[-1], HILL_BARS[order], reference="fundamental solutions",
                ))  # fmt: skip
        rows += hills.convergence(f"{hill.name}, pressure", order, samplings, errors)
    return rows


def case(quick: bool) -> list[cases.Row]:
    """Compare dips from 0 to 30 degrees, in 3-D along both axes, hills and a canyon."""
    if quick:
        nearest = PLANE.receivers[[0, 1, 4]]
        return [
            *rows_of(2, "velocity", 10, 0.0, 8, receivers=nearest, margin=6.0),
            *hill_rows(hills.SMALL, quick),
        ]
    rows = []
    for quantity in ("pressure", "velocity"):
        for order in (8, 4):
            for dip in (0, 5, 10, 20, 30):
                rows += rows_of(2, quantity, dip, 0.0, order)
    for quantity, order in (("pressure", 8), ("velocity", 8), ("pressure", 4)):
        rows += rows_of(3, quantity, 15, 35, order)
    for hill in (hills.HILL, hills.STEEP, hills.CANYON):
        rows += hill_rows(hill, quick)
    return rows


if __name__ == "__main__":
    cases.main(case)
