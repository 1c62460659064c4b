"""LOH.3, a layer over a half-space that attenuate: the community test of earthquake codes.

As LOH.1 (`loh1.py`), with Qp / Qs = 120 / 40 in the layer and 155.9 / 69.3 below, velocities at
2.5 Hz, and a Gaussian moment rate of 0.05 s; station 10 at (6, 8) km, h = 50 m, where there is a
GPU. In minutes on two cores the same rock at lower frequencies: at h = 100 and 200 m the pulse, the
spacing and the period at which velocities hold are two and four times as long. Against the exact
solution of `seismo.exact.layered` with the law of reflectivity codes (Kolsky's). Day &
Bradley (2001); misfits of Kristekova et al. (2009).
"""

from __future__ import annotations

import cases
import loh1
import numpy as np

from seismo.backends.select import choose
from seismo.exact import layered, metrics
from seismo.exact.medium import AttenuatingMedium, Medium, kolsky
from seismo.exact.stack import Stack

QUALITIES = ((120.0, 40.0), (155.9, 69.3))  # Qp, Qs
SIGMA, REFERENCE = 0.05, 2.5  # s, Hz, at h = 50 m


def scenario(spacing: float) -> dict:
    """Make LOH.3 of the scenario of LOH.1 at a spacing in m."""
    document = loh1.scenario(spacing)
    slower = spacing / 50.0
    document["title"] = f"LOH.3, h = {spacing:g} m"
    for layer, (qp, qs) in zip(document["model"][0]["layers"], QUALITIES, strict=True):
        layer.update(qp=qp, qs=qs)
    document["attenuation"] = {"law": "kolsky", "reference_frequency": REFERENCE / slower}
    document["sources"][0]["wavelet"] = {
        "type": "gaussian_rate", "sigma": SIGMA * slower, "delay": 6 * SIGMA * slower,
    }  # fmt: skip
    return document


def stack(reference: float) -> Stack:
    """Give the layers, with velocities at a reference frequency in Hz."""

    def rock(medium: Medium, qp: float, qs: float) -> Medium:
        ratios = kolsky(qp, reference), kolsky(qs, reference)
        return AttenuatingMedium(medium.vp, medium.vs, medium.rho, *ratios)

    media = zip(loh1.STACK.media, QUALITIES, strict=True)
    return Stack(tuple(rock(m, *q) for m, q in media), loh1.STACK.depths)


def compare(spacing: float) -> list[cases.Row]:
    """Run one spacing."""
    run = cases.simulate(scenario(spacing))
    slower = spacing / 50.0
    moment = np.zeros((3, 3))
    moment[0, 1] = moment[1, 0] = 1e18
    # The exact solution on every few steps: its frequencies are the source's either way.
    f_max = np.sqrt(2 * np.log(20.0)) / (2 * np.pi * SIGMA * slower)  # 5 % of its spectrum
    step = max(1, int(0.1 / f_max / run.dt))
    times = run.times[::step]
    exact = layered.moment_response(
        stack(REFERENCE / slower), np.array([0.0, 0.0, 2000.0]), loh1.STATION[None, :], moment,
        run.source[::step], run.dt * step, "velocity", "moment_rate", cut=1e-5,
    )[0]  # fmt: skip
    trace = loh1.cylindrical(run.components("vx", "vy", "vz")[0])[:, ::step]
    truth = loh1.cylindrical(exact)
    misfit = metrics.time_frequency_misfit(trace, truth, run.dt * step, 0.02 * f_max, f_max)
    sampling = f"h = {spacing:g} m, {2000.0 / f_max / spacing:.2g} ppw, {run.seconds:.0f} s"
    name = f"LOH.3 station 10{', slow version' if spacing > 50 else ''}"
    cases.draw_traces(
        f"loh3_{spacing:g}m", f"LOH.3, station 10, h = {spacing:g} m",
        [cases.Panel(c, times, trace[k], truth[k])
         for k, c in enumerate(("radial", "transverse", "down"))], "m/s", columns=1,
    )  # fmt: skip
    error = metrics.relative_l2(trace, truth)
    return [
        cases.Row(f"{name}, vector L2", sampling, error, 0.03, peers="SW4 5.4 %"),
        cases.Row(f"{name}, envelope misfit", sampling, float(np.max(misfit.envelope)), 0.015,
                  peers="SW4 2.3 %"),
        cases.Row(f"{name}, phase misfit", sampling, float(np.max(misfit.phase)), 0.012),
    ]  # fmt: skip


def case(quick: bool) -> list[cases.Row]:
    """Compare slow versions of LOH.3 at 200 and 100 m, on a GPU LOH.3 itself; quick, at 400 m."""
    published = (50.0,) if choose().name == "gpu" else ()
    spacings = (400.0,) if quick else (200.0, 100.0, *published)
    return [row for spacing in spacings for row in compare(spacing)]


if __name__ == "__main__":
    cases.main(case)
