"""Plane waves from below, against exact ones, and what is left outside of their box.

P, SV and SH waves in a half-space and in two layers over one, on the surface and at depth, against
the amplitudes of up and down going waves in all layers (`seismo.exact.layered_plane`);
vector L2 of all receivers; and in soft ground on rock of which one loses energy and the other none.
Then the largest velocity outside of the box in the whole of such runs, over the largest inside, in
single precision with the default options; and the same in space.
"""

from __future__ import annotations

import cases
import numpy as np

from seismo.backends.select import choose
from seismo.exact import layered_plane as incident_plane
from seismo.exact import metrics
from seismo.exact.medium import AttenuatingMedium, Medium, constant_q
from seismo.exact.stack import Stack
from seismo.features.plane_waves.plane_wave import box_of, plane_waves
from seismo.scenario import from_dict
from seismo.solver.simulation import build

HALF_SPACE = ((0.0, 4000.0, 2300.0, 2500.0),)
LAYERS = ((0.0, 1500.0, 600.0, 1900.0), (150.0, 2200.0, 1200.0, 2100.0),
          (433.0, 4000.0, 2300.0, 2500.0))  # fmt: skip
SOFT_ON_ROCK = ((0.0, 1600.0, 800.0, 1800.0), (150.0, 3464.0, 2000.0, 2300.0))
FREQUENCY = 4.0
ATTENUATION = {"reference_frequency": FREQUENCY, "mechanisms": 6, "band": [0.3, 20.0]}
AZIMUTH = 33.0


def scenario(wave: str, incidence: float, layers, h: float, duration: float) -> dict:
    """Return a run in the plane."""
    return {
        "physics": "elastic_sh" if wave == "SH" else "elastic",
        "grid": {"extent": {"x": 1600.0, "z": 900.0}, "spacing": h, "order": 8},
        "time": {"duration": duration},
        "boundaries": {"top": "free_surface"},
        "model": [{"type": "layers", "layers": [
            {"top": top, "vp": vp, "vs": vs, "rho": rho} for top, vp, vs, rho in layers]}],
        "sources": [{"type": "plane_wave", "wave": wave, "incidence": incidence,
                     "wavelet": {"type": "ricker", "frequency": FREQUENCY}}],
        "receivers": [cases.points(
            np.array([[500.0, 0.0], [1000.0, 0.0], [700.0, 300.0], [900.0, 520.0]]),
            ["velocity"],
        )],
    }  # fmt: skip


def lossy(document: dict, loses: int) -> list[Medium]:
    """Let one layer of a scenario lose energy, qp 40 and qs 20; return the media of all."""
    layers = document["model"][0]["layers"]
    media = [Medium(layer["vp"], layer["vs"], layer["rho"]) for layer in layers]
    qualities = {"qp": 40.0, "qs": 20.0}
    document["attenuation"] = ATTENUATION
    layers[loses] |= qualities if document["physics"] == "elastic" else {"qs": qualities["qs"]}
    moduli = [constant_q(quality, FREQUENCY) for quality in qualities.values()]
    rock = media[loses]
    media[loses] = AttenuatingMedium(rock.vp, rock.vs, rock.rho, *moduli)
    return media


def against_exact(
    wave: str, incidence: float, layers, ppw: float, bar: float, loses: int | None = None
) -> cases.Row:
    """Compare traces; `loses` is the number of the layer that loses energy."""
    h = layers[0][2] / (2.5 * FREQUENCY) / ppw
    document = scenario(wave, incidence, layers, h, 4.0)
    media = [Medium(*rock) for _, *rock in layers]
    where = "half-space" if len(layers) == 1 else "layers"
    if loses is not None:
        media = lossy(document, loses)
        where = f"Q 20 in {('the soft layer', 'the rock')[loses]} alone"
    run = cases.simulate(document)
    (source,) = plane_waves(run.simulation.discretization)
    stack = Stack(tuple(media), tuple(top for top, *_ in layers))
    samples = source.signal(np.arange(2 * run.times.size) * run.dt, 0)
    places = document["receivers"][0]["positions"]
    exact = incident_plane.velocity(
        stack, wave, source.incidence, np.array([[p["x"], p["z"]] for p in places]), samples,
        run.dt, np.array([source.position[0], source.position[2]]),
    )  # fmt: skip
    traces = run.components(*(("vy",) if wave == "SH" else ("vx", "vz")))
    error = metrics.relative_l2(traces, exact[..., : run.times.size])
    return cases.Row(
        f"plane {wave} wave, {incidence:g} degrees, {where}", f"{ppw:g} ppw", error, bar,
        reference="global matrix",
    )  # fmt: skip


def left_outside(name: str, document: dict, sampling: str, bar: float = 1e-4) -> cases.Row:
    """Return the largest velocity outside the box of a run, over that inside."""
    simulation = build(from_dict(document), choose())
    discretization = simulation.discretization
    (wave,) = plane_waves(discretization)
    box = box_of(discretization, wave)
    y = slice(box.first[1] - 1, box.last[1] + 2) if "y" in box.faces else slice(None)
    inside = (slice(0, box.last[2] + 2), y, slice(box.first[0] - 1, box.last[0] + 2))
    largest = left = 0.0
    while simulation.step < simulation.total_steps:
        simulation.advance(min(25, simulation.total_steps - simulation.step))
        for component in ("vx", "vy", "vz"):
            if component in discretization.physics.shown:
                field = np.abs(simulation.field(component)[0])
                largest = max(largest, float(field.max()))
                field[inside] = 0.0
                left = max(left, float(field.max()))
    return cases.Row(
        f"left outside the box, {name}", sampling, left / largest, bar, unit="",
        reference="motion inside",
    )  # fmt: skip


def in_space(wave: str) -> dict:
    """Return a run in space at an azimuth."""
    document = scenario(wave, 25.0, LAYERS, 20.0, 1.2)
    document["physics"] = "elastic"
    document["grid"]["extent"] = {"x": 900.0, "y": 800.0, "z": 900.0}
    document["sources"][0]["azimuth"] = AZIMUTH
    document["receivers"] = []
    return document


def case(quick: bool) -> list[cases.Row]:
    """Compare with exact motion, and look outside."""
    angles = [("SV", 20.0), ("SH", 60.0)]
    if not quick:
        angles += [("SV", 0.0), ("SV", 34.0), ("SV", 50.0), ("P", 0.0), ("P", 40.0), ("P", 80.0)]
    rows = [against_exact(wave, angle, HALF_SPACE, 10.0, 1e-3) for wave, angle in angles]
    layered = [("SH", 50.0)] if quick else [("P", 50.0), ("SV", 25.0), ("SH", 50.0)]
    rows += [against_exact(wave, angle, LAYERS, 10.0, 0.01) for wave, angle in layered]
    parts = [("SH", 0.0, 0)] if quick else [
        (wave, angle, loses) for loses in (0, 1)
        for wave, angle in (("SH", 0.0), ("SH", 50.0), ("SV", 25.0), ("P", 0.0), ("P", 40.0))
    ]  # fmt: skip
    rows += [
        against_exact(wave, angle, SOFT_ON_ROCK, 20.0, 0.003, loses) for wave, angle, loses in parts
    ]
    rows += [
        left_outside(f"{wave} {angle:g} degrees, layers", scenario(wave, angle, LAYERS, h, 3.0),
                     f"{6.0 * 10.0 / h:.2g} ppw")
        for wave, angle, h in (("SV", 25.0, 20.0), ("SV", 36.0, 15.0), ("P", 80.0, 15.0))[
            : 1 if quick else 3
        ]
    ]  # fmt: skip
    if not quick:
        rows += [left_outside(f"{wave} 25 degrees, 3-D", in_space(wave), "3 ppw")
                 for wave in ("P", "SV", "SH")]  # fmt: skip
    return rows


if __name__ == "__main__":
    cases.main(case)
