"""Whole spaces that attenuate, by prescribed relaxation times and by constant Q, 2-D and 3-D.

The media and relaxation times of Carcione, Kosloff & Kosloff (1988), which SPECFEM's examples use:
vertical forces, bulk and shear moduli relaxing at three times, and a visco-acoustic source, at 12
points per shortest wavelength, source and receiver between the grid points. Velocities (pressures)
in absolute amplitude against `seismo.exact` with the same complex moduli, which agrees with the
published traces to 1e-6. Then Kjartansson's constant Q in place of relaxation times, where the fit
of the mechanisms is part of the error, P-SV and SH.
"""

from __future__ import annotations

import cases
import numpy as np

from seismo.exact import (
    acoustic,
    metrics,
    shear,
    whole_space,
)
from seismo.exact import (
    medium as viscoelastic,
)
from seismo.exact.medium import Medium

FREQUENCY, PPW = 18.0, 12
DENSITY = 2000.0
GIVEN = Medium(3297.849, 2222.536, DENSITY)
SHORTEST = GIVEN.vs / (2.5 * FREQUENCY)
SPACING = SHORTEST / PPW
PEERS = {2: "SPECFEM2D 0.37-0.41 %", 3: "SPECFEM3D 0.50 %"}
# Relaxation times (tau_epsilon, tau_sigma) in s of the bulk and the shear modulus.
TIMES = {
    2: {
        "bulk": [(0.109527114743452, 8.841941282883074e-2),
                 (1.070028707488438e-2, 8.841941282883074e-3),
                 (1.132519034287800e-3, 8.841941282883074e-4)],
        "shear": [(0.112028084581976, 8.841941282883074e-2),
                  (1.093882462934487e-2, 8.841941282883074e-3),
                  (1.167173427475064e-3, 8.841941282883074e-4)],
    },
    3: {
        "bulk": [(0.281966668348107, 0.186873539567019),
                 (0.03607809663879578, 0.02491998701168405),
                 (0.005638875613224546, 0.003323133676931235)],
        "shear": [(0.233016592750913, 0.186873539567019),
                  (0.02994444382282767, 0.02491998701168405),
                  (0.00428386248745502, 0.003323133676931235)],
    },
}  # fmt: skip
ACOUSTIC_TIMES = [(3.3490e-2, 3.1831e-2), (3.3205e-3, 3.1831e-3), (3.3551e-4, 3.1831e-4)]


def unrelaxed(dimensions: int) -> Medium:
    """Give the medium that vp and vs of the scenario say; in 3-D the published ones are relaxed."""
    if dimensions == 2:
        return GIVEN
    bulk, mu = GIVEN.bulk * 1.16340515510165, GIVEN.mu * 1.0794101486097
    return Medium(np.sqrt((bulk + 4 / 3 * mu) / DENSITY), np.sqrt(mu / DENSITY), DENSITY)


def scenario(
    medium: Medium, offset: np.ndarray, spacing: float, frequency: float, quick: bool, **keys
) -> dict:
    """Put one source and one receiver, both off the nodes, in a box around them."""
    axes = "xyz" if offset.size == 3 else "xz"
    margin = 12 * spacing
    extent = np.ceil((np.abs(offset) + 2 * margin) / spacing) * spacing
    start = margin + 0.3 * spacing + np.zeros(offset.size)
    speed = medium.vs or medium.vp
    quantity = keys.pop("quantity", "velocity")
    source = keys.pop("source")
    rock = {"vp": medium.vp, "rho": medium.rho} | ({"vs": medium.vs} if medium.vs else {})
    return {
        "title": "whole space that attenuates", "precision": "float64",
        "grid": {"extent": cases.place(extent, axes), "spacing": spacing, "order": 8},
        "time": {"duration": float(np.linalg.norm(offset) / speed + 4.0 / frequency),
                 "dispersion_removal": True},
        "boundaries": {"layer": {"points": 12} if quick and offset.size == 3 else {}},
        "model": [{"type": "uniform", **rock, **keys.pop("quality", {})}],
        "sources": [{**source, "position": cases.place(start, axes),
                     "wavelet": {"type": "ricker", "frequency": frequency}}],
        "receivers": [cases.points(start + offset, [quantity], axes)],
        **keys,
    }  # fmt: skip


def carcione(dimensions: int, quick: bool) -> tuple[cases.Row, list[cases.Panel]]:
    """Compare a vertical force in 2-D or 3-D with prescribed relaxation times."""
    times, medium = TIMES[dimensions], unrelaxed(dimensions)
    small = quick and dimensions == 3
    far, near = {2: (500.0, 250.0), 3: (250.0, 100.0)}[dimensions]
    distance = near if quick else far
    offset, ppw = np.full(dimensions, distance), 8 if small else PPW
    force = np.zeros(dimensions)
    force[-1] = 1e9
    source = {"type": "force", "force": cases.place(force, "xyz" if dimensions == 3 else "xz")}
    run = cases.simulate(scenario(
        medium, offset, SHORTEST / ppw, FREQUENCY, quick, physics="elastic", source=source,
        attenuation={"relaxation": {k: [list(p) for p in v] for k, v in times.items()}},
    ))  # fmt: skip
    ratios = [viscoelastic.relaxation(*zip(*times[name], strict=True)) for name in times]
    rock = viscoelastic.of_bulk_and_shear(medium, *ratios, dimensions)
    exact = whole_space.force_response([offset], force, run.source, run.dt, rock, "velocity")[0]
    trace = run.components(*(f"v{a}" for a in ("xyz" if dimensions == 3 else "xz")))[0]
    error = max(metrics.relative_l2(a, b) for a, b in zip(trace, exact, strict=True))
    row = cases.Row(
        f"visco-elastic {dimensions}-D, force, relaxation times, worst component", f"{ppw} ppw",
        error, 0.003, peers=PEERS[dimensions],
    )  # fmt: skip
    return row, [cases.Panel(f"{dimensions}-D, v{a}", run.times, trace[k], exact[k])
                 for a, k in (("x", 0), ("z", -1))]  # fmt: skip


def carcione_acoustic(quick: bool) -> tuple[cases.Row, list[cases.Panel]]:
    """Compare the pressure 800 m away in a visco-acoustic medium: p_tt = M/rho (lap p + s)."""
    water, frequency = Medium(2000.0, 0.0, DENSITY), 50.0
    offset = np.array([640.0, 480.0]) * (0.5 if quick else 1.0)
    spacing = water.vp / (2.5 * frequency) / PPW
    run = cases.simulate(scenario(
        water, offset, spacing, frequency, quick, physics="acoustic", quantity="pressure",
        source={"type": "pressure"},
        attenuation={"relaxation": {"p": [list(pair) for pair in ACOUSTIC_TIMES]}},
    ))  # fmt: skip
    ratio = viscoelastic.relaxation(*zip(*ACOUSTIC_TIMES, strict=True))
    speed = viscoelastic.speed(water.vp, ratio)
    exact = acoustic.pressure([offset], run.source, run.dt, speed)
    trace = run.traces["pressure"]
    error = metrics.relative_l2(trace, exact)
    row = cases.Row("visco-acoustic 2-D, relaxation times", f"{PPW} ppw", error, 0.005,
                    peers="SPECFEM2D 5.3 %, amplitude free")  # fmt: skip
    return row, [cases.Panel("acoustic 2-D, p", run.times, trace[0], exact[0])]


def constant_q(quality: float, physics: str, quick: bool) -> tuple[cases.Row, list[cases.Panel]]:
    """Compare a line force with Kjartansson's constant Q, 6 shear wavelengths away, or 3."""
    offset = np.array([640.0, 320.0]) * (0.5 if quick else 1.0)
    force = np.array([1e9]) if physics == "sh" else np.array([0.0, 1e9])
    axes = "y" if physics == "sh" else "xz"
    run = cases.simulate(scenario(
        GIVEN, offset, SPACING, FREQUENCY, False,
        physics="elastic_sh" if physics == "sh" else "elastic",
        source={"type": "force", "force": cases.place(force, axes)},
        quality={"qs": quality} | ({} if physics == "sh" else {"qp": 2 * quality}),
        attenuation={"reference_frequency": FREQUENCY},
    ))  # fmt: skip
    mu = viscoelastic.constant_q(quality, FREQUENCY)
    if physics == "sh":
        speed = viscoelastic.speed(GIVEN.vs, mu)
        exact = shear.force_response(
            [offset], [0, 0], 1e9 * run.source, run.dt, speed, DENSITY, "velocity"
        )[:, None][0]
    else:
        rock = viscoelastic.AttenuatingMedium(
            GIVEN.vp, GIVEN.vs, DENSITY, viscoelastic.constant_q(2 * quality, FREQUENCY), mu
        )
        exact = whole_space.force_response([offset], force, run.source, run.dt, rock, "velocity")[0]
    trace = run.components(*(f"v{a}" for a in axes))[0]
    error = metrics.relative_l2(trace, exact)
    name = "SH" if physics == "sh" else "P-SV"
    row = cases.Row(f"constant Q, {name}, Qs = {quality:g}, force, vector L2", f"{PPW} ppw", error,
                    0.01)  # fmt: skip
    return row, [cases.Panel(f"{name}, Qs = {quality:g}, v{axes[-1]}", run.times, trace[-1],
                             exact[-1])]  # fmt: skip


def volume(quality: float) -> tuple[cases.Row, list[cases.Panel]]:
    """Compare volume that comes out of a point of a solid: the moment rate M_P(w) q(w)."""
    offset = np.array([320.0, 160.0])
    run = cases.simulate(scenario(
        GIVEN, offset, SPACING, FREQUENCY, False, physics="elastic",
        source={"type": "volume_rate"}, quality={"qp": quality, "qs": 0.5 * quality},
        attenuation={"reference_frequency": FREQUENCY},
    ))  # fmt: skip
    p, s = (viscoelastic.constant_q(q, FREQUENCY) for q in (quality, 0.5 * quality))
    padded = 16 * run.source.size
    omega = 2 * np.pi * np.fft.rfftfreq(padded, run.dt)
    omega[0] = 1e-3 * omega[1]
    rate = DENSITY * GIVEN.vp**2 * p(1j * omega) * np.fft.rfft(run.source, padded)
    moment_rate = np.fft.irfft(rate, padded)[: run.source.size]
    rock = viscoelastic.AttenuatingMedium(GIVEN.vp, GIVEN.vs, DENSITY, p, s)
    exact = whole_space.moment_response(
        [offset], np.eye(2), moment_rate, run.dt, rock, "velocity", "moment_rate"
    )[0]
    trace = run.components("vx", "vz")[0]
    row = cases.Row(f"constant Q, P-SV, Qp = {quality:g}, volume rate, vector L2", f"{PPW} ppw",
                    metrics.relative_l2(trace, exact), 0.01)  # fmt: skip
    return row, []


def case(quick: bool) -> list[cases.Row]:
    """Compare prescribed relaxation times, then constant Q, with exact traces."""
    parts = [carcione(2, quick), carcione(3, quick), carcione_acoustic(quick)]
    parts += [constant_q(q, "p-sv", quick) for q in ((20.0,) if quick else (20.0, 50.0, 200.0))]
    parts += [constant_q(20.0, "sh", quick), volume(20.0)]
    panels = [panel for _, drawn in parts for panel in drawn]
    cases.draw_traces("attenuation_whole_space", "Whole spaces that attenuate", panels, "m/s or Pa")
    return [row for row, _ in parts]


if __name__ == "__main__":
    cases.main(case)
