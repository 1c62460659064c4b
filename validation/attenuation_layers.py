"""A soft layer over a half-space, both of constant Q, in 2-D: surface waves that attenuate.

A vertical force under the free surface, receivers on it and below, 4 to 11 shear wavelengths of the
layer away, in absolute amplitude against the exact wavenumber integral of
`seismo.exact.layered_plane` with Kjartansson's law: the fit of the mechanisms, the surface,
the contact and the absorbing layers all take part. Without loss the same geometry shows what of it
is the grid's.
"""

from __future__ import annotations

import cases
import numpy as np

from seismo.exact import layered_plane, metrics
from seismo.exact.medium import AttenuatingMedium, Medium, constant_q
from seismo.exact.stack import Stack

MEDIA = (Medium(1500.0, 700.0, 1900.0), Medium(3000.0, 1700.0, 2300.0))
QUALITIES = ((40.0, 20.0), (120.0, 60.0))  # Qp, Qs
FREQUENCY, THICKNESS, DEPTH = 8.0, 120.0, 60.0
RECEIVERS = np.array([[350.0, 0.0], [1000.0, 0.0], [700.0, 250.0]])
FORCE = np.array([0.0, 1e9])


def scenario(ppw: float, attenuating: bool) -> dict:
    """Put it on a grid of so many points per shortest wavelength."""
    h = MEDIA[0].vs / (2.5 * FREQUENCY) / ppw
    margin, x = 250.0, RECEIVERS[:, 0].max()
    layers = [
        {"top": top, "vp": m.vp, "vs": m.vs, "rho": m.rho}
        | ({"qp": qp, "qs": qs} if attenuating else {})
        for top, m, (qp, qs) in zip((0.0, THICKNESS), MEDIA, QUALITIES, strict=True)
    ]
    extent = {"x": h * np.ceil((x + 2 * margin) / h), "z": h * np.ceil((250.0 + 2 * margin) / h)}
    attenuation = {"attenuation": {"reference_frequency": FREQUENCY}} if attenuating else {}
    return {
        "title": "soft layer of constant Q", "physics": "elastic", "precision": "float64",
        "grid": {"extent": extent, "spacing": h, "order": 8,
                 "origin": {"x": -h * np.ceil(margin / h), "z": 0.0}},
        "time": {"duration": 2.6, "dispersion_removal": True},
        "boundaries": {"top": "free_surface"},
        "model": [{"type": "layers", "layers": layers}],
        "sources": [{"type": "force", "position": {"x": 0.0, "z": DEPTH},
                     "force": cases.place(FORCE),
                     "wavelet": {"type": "ricker", "frequency": FREQUENCY}}],
        "receivers": [cases.points(RECEIVERS, ["velocity"])],
        **attenuation,
    }  # fmt: skip


def stack(attenuating: bool) -> Stack:
    """Give the layers of the exact solution."""
    if not attenuating:
        return Stack(MEDIA, (0.0, THICKNESS))
    rocks = tuple(
        AttenuatingMedium(m.vp, m.vs, m.rho, *(constant_q(q, FREQUENCY) for q in qualities))
        for m, qualities in zip(MEDIA, QUALITIES, strict=True)
    )
    return Stack(rocks, (0.0, THICKNESS))


def compare(ppw: float, attenuating: bool, bar: float) -> tuple[cases.Row, list[cases.Panel]]:
    """Run one sampling, with loss or without."""
    run = cases.simulate(scenario(ppw, attenuating))
    traces = run.components("vx", "vz")
    # The exact solution on every few steps: its frequencies are the source's either way.
    step = max(1, int(1 / (12 * FREQUENCY) / run.dt))
    exact = layered_plane.force_response(
        stack(attenuating), np.array([0.0, DEPTH]), RECEIVERS, FORCE, run.source[::step],
        run.dt * step, "velocity", cut=1e-6,
    )  # fmt: skip
    traces, times = traces[:, :, ::step], run.times[::step]
    error = max(metrics.relative_l2(a, b) for a, b in zip(traces, exact, strict=True))
    loss = "Qs = 20 over 60" if attenuating else "without loss"
    row = cases.Row(f"layer over half-space, {loss}, worst receiver", f"{ppw} ppw", error, bar)
    panels = [
        cases.Panel(f"v{a}, x = {x:g} m, z = {z:g} m", times, traces[r, k], exact[r, k])
        for r, (x, z) in enumerate(RECEIVERS)
        for k, a in enumerate("xz")
    ]
    return row, panels


def case(quick: bool) -> list[cases.Row]:
    """Compare a layer of constant Q at 8 and 15 points per wavelength, and without loss."""
    row, panels = compare(8, True, 0.03)
    title = "Soft layer over a half-space, Qs = 20 over 60, 8 points per wavelength"
    cases.draw_traces("attenuation_layers", title, panels, "m/s")
    return [row] if quick else [row, compare(8, False, 0.03)[0], compare(15, True, 0.015)[0]]


if __name__ == "__main__":
    cases.main(case)
