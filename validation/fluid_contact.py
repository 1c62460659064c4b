"""Contacts of two fluids of unlike density: flat ones under a free surface, and ones that dip.

Both equations that know density are run: variable-density acoustic, and elastic with vs = 0. The
fluids slip along their contact, so what resists motion along it is not the mean density that
resists motion across it (docs/adr/007-effective-medium.md). Flat: 1600 m/s everywhere, 1000
over 2200 kg/m3, an explosion near a free surface, the contact at four places between the nodes.
Dipping: the exact solution of a flat contact, turned, as in `dipping_contact.py`. Errors are of
pressure at all receivers together, and of the worst trace of pressure, vx or vz.
"""

from __future__ import annotations

import cases
import numpy as np

from seismo.exact import layered_plane, metrics
from seismo.exact.medium import Medium
from seismo.exact.stack import Stack

UPPER, LOWER = Medium(1600.0, 0.0, 1000.0), Medium(1600.0, 0.0, 2200.0)
FREQUENCY = 12.0
EQUATIONS = {"acoustic_variable_density": "acoustic", "elastic": "elastic, vs = 0"}
SOURCE = np.array([0.0, 60.0])
RECEIVERS = np.array([[300.0, 150.0], [1100.0, 150.0], [700.0, 220.0], [500.0, 300.0],
                      [1100.0, 350.0]])  # fmt: skip
DURATION = 1.0
BARS = ((10.0, (0.008, 0.025)), (20.0, (0.002, 0.006)))  # points: all pressures, worst trace
# Cells along the contact that dips, and below it.
MARGIN = 200
SOURCE_BESIDE = np.array([0.0, -30.0])
RECEIVERS_BESIDE = np.array([[40.0, -30.0], [80.0, -12.0], [70.0, -5.0], [40.0, 5.0], [60.0, 25.0]])


def spacing_for(ppw: float) -> float:
    """Return the grid spacing in m for so many points per shortest wavelength."""
    return min(UPPER.vp, LOWER.vp) / (2.5 * FREQUENCY) / ppw


def document(equation: str, h: float, low: np.ndarray, high: np.ndarray, **keys) -> dict:
    """Return a scenario on a grid between two corners (x, z) m."""
    return {
        "title": "fluids in contact", "physics": equation, "precision": "float64",
        "grid": {"extent": cases.place(high - low), "origin": cases.place(low), "spacing": h,
                 "order": 8},
    } | keys  # fmt: skip


def explosion(position: np.ndarray) -> dict:
    """Return a source."""
    return {"type": "explosion", "position": cases.place(position), "moment": 1e6,
            "time_function": "moment",
            "wavelet": {"type": "ricker", "frequency": FREQUENCY}}  # fmt: skip


def fluid(medium: Medium, equation: str) -> dict:
    """Return a medium as a scenario names it."""
    values = {"vp": medium.vp, "rho": medium.rho}
    return values | {"vs": 0.0} if equation == "elastic" else values


def exact_traces(run: cases.Run, stack: Stack, source, receivers) -> np.ndarray:
    """Return pressure, vx, vz (receiver, 3, time) of an explosion."""
    moment, how = 1e6 * np.eye(2), {"cut": 1e-7}
    stress, velocity = (
        layered_plane.moment_response(
            stack, source, receivers, moment, run.source, run.dt, quantity, **how
        )
        for quantity in ("stress", "velocity")
    )
    return np.concatenate([-stress[:, 1:], velocity], axis=1)


def flat(equation: str, ppw: float, fraction: float):
    """Put the contact a fraction of a cell below a node; return the run, traces, exact traces."""
    h = spacing_for(ppw)
    depth = (np.round(250.0 / h) + fraction) * h
    low, high = np.array([-np.ceil(100.0 / h) * h, 0.0]), np.ceil(np.array([1250.0, 500.0]) / h) * h
    run = cases.simulate(document(
        equation, h, low, high,
        boundaries={"top": "free_surface"},
        time={"duration": DURATION, "dispersion_removal": True},
        model=[{"type": "layers", "layers": [
            {"top": 0.0, **fluid(UPPER, equation)}, {"top": depth, **fluid(LOWER, equation)}]}],
        sources=[explosion(SOURCE)],
        receivers=[cases.points(RECEIVERS, ["pressure", "velocity"])],
    ))  # fmt: skip
    exact = exact_traces(run, Stack((UPPER, LOWER), (0.0, depth), True), SOURCE, RECEIVERS)
    return run, run.components("pressure", "vx", "vz"), exact


def dipping(equation: str, ppw: float, dip: float):
    """Turn a contact by so many degrees; return the run, traces and exact traces."""
    h = spacing_for(ppw)
    scale = h * ppw / 10.0  # the same geometry in wavelengths
    cosine, sine = np.cos(np.radians(dip)), np.sin(np.radians(dip))
    turn = np.array([[cosine, -sine], [sine, cosine]])
    centre = np.array([0.37, 0.23]) * h
    source = centre + scale * turn @ SOURCE_BESIDE
    receivers = centre + scale * RECEIVERS_BESIDE @ turn.T
    ends = np.vstack([source, receivers])
    low, high = (
        np.round(end / h) * h
        for end in (ends.min(0) - MARGIN * scale, ends.max(0) + MARGIN * scale)
    )
    along, across = 1e4 * turn.T
    corners = [centre - along, centre + along, centre + along + across, centre - along + across]
    run = cases.simulate(document(
        equation, h, low, high,
        time={"duration": 95.0 * scale / UPPER.vp + 3.0 / FREQUENCY, "dispersion_removal": True},
        model=[{"type": "uniform", **fluid(UPPER, equation)},
               {"type": "polygon", "points": np.array(corners).tolist(),
                **fluid(LOWER, equation)}],
        sources=[explosion(source)],
        receivers=[cases.points(receivers, ["pressure", "velocity"])],
    ))  # fmt: skip
    exact = exact_traces(run, Stack((UPPER, LOWER), (0.0,), False), scale * SOURCE_BESIDE,
                         scale * RECEIVERS_BESIDE)  # fmt: skip
    exact[:, 1:] = np.einsum("ij,rjt->rit", turn, exact[:, 1:])
    return run, run.components("pressure", "vx", "vz"), exact


def errors(traces: np.ndarray, exact: np.ndarray) -> tuple[float, float]:
    """Return the error of all pressures together, and of the worst trace."""
    worst = max(
        metrics.relative_l2(a, b)
        for receiver, reference in zip(traces, exact, strict=True)
        for a, b in ((receiver[0], reference[0]), (receiver[1:], reference[1:]))
    )
    return metrics.relative_l2(traces[:, 0], exact[:, 0]), worst


def rows_of(name: str, sampling: str, found: tuple[float, float], bars: tuple) -> list[cases.Row]:
    """Return a row for all pressures together, and one for the worst trace."""
    return [
        cases.Row(f"{name}, {what}", sampling, error, bar)
        for what, error, bar in zip(("all pressures", "worst trace"), found, bars, strict=True)
    ]


def case(quick: bool) -> list[cases.Row]:
    """Compare flat contacts at several places in their cell, and contacts that dip."""
    rows = []
    for equation, name in EQUATIONS.items():
        for ppw, bars in BARS:
            for fraction in (0.25,) if quick else (0.0, 0.25, 0.5, 0.75):
                _, traces, exact = flat(equation, ppw, fraction)
                sampling = f"{ppw:g} ppw, contact {fraction} h below a node"
                rows += rows_of(f"{name}, flat", sampling, errors(traces, exact), bars)
        for dip in (45.0,) if quick else (10.0, 20.0, 45.0, 70.0):
            for ppw, bars in BARS[:1] if quick else BARS:
                _, traces, exact = dipping(equation, ppw, dip)
                found = errors(traces, exact)
                rows += rows_of(f"{name}, dip {dip:g} degrees", f"{ppw:g} ppw", found, bars)
    return rows


if __name__ == "__main__":
    cases.main(case)
