"""Numbers too small for a full mantissa are taken for 0, by the threads that step and nobody else.

They slow some processors down a hundred times, and change no digit that a seismogram shows. Whether
they are stays the same for every way to lay the work out, so that the bits of a run do too.
"""

from platform import machine

import numpy as np
import pytest

import solver
from seismo.backends.cpu.backend import CpuBackend
from seismo.backends.reference import HostBackend
from test_cpu_programs import deal_to, survey

pytestmark = pytest.mark.skipif(machine() != "x86_64", reason="other processors keep their mode")
PRECISIONS = ("float32", "float64")


def ordinary(precision: str) -> bool:
    """Tell whether a denormal number survives here."""
    least = np.finfo(precision).smallest_normal
    return bool(np.array([least]) / np.array([4.0], precision) > 0)


@pytest.mark.parametrize("by_program", [True, False])
@pytest.mark.parametrize("precision", PRECISIONS)
def test_fields_of_denormals_go_to_nothing(precision, by_program, monkeypatch) -> None:
    """And NumPy, which called, computes with them as before."""
    if not by_program:
        monkeypatch.setattr(CpuBackend, "program", HostBackend.program)
    simulation = solver.build(solver.plan("acoustic", 2, steps=4, precision=precision))
    solver.silence(simulation)
    small = np.finfo(precision).smallest_normal / 4
    for part in simulation.solvers:
        for field in part.fields.wavefield.values():
            field[:] = small
    assert ordinary(precision)
    simulation.advance(3)
    assert ordinary(precision)
    assert not any(field.any() for field in solver.wavefield(simulation, 0).values())


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize(("name", "dimensions"), [("acoustic", 3), ("elastic", 2)])
def test_every_way_to_lay_work_out_gives_the_same_bits(
    name, dimensions, precision, tmp_path, monkeypatch
) -> None:
    """From noise around the least normal number: much of it is denormal."""
    size = np.finfo(precision).smallest_normal * (1.0 if name == "acoustic" else 1e6)
    document = survey(name, dimensions, tmp_path, 1) | {"precision": precision}

    def stepped() -> dict[str, np.ndarray]:
        simulation = solver.build(document, tmp_path)
        solver.silence(simulation)
        solver.add_noise(simulation)
        for part in simulation.solvers:
            for field in part.fields.wavefield.values():
                field *= size
        simulation.advance(9)
        return solver.wavefield(simulation, 0)

    found = []
    for threads in (1, 2, 3):
        deal_to(threads, monkeypatch)
        found.append(stepped())
    monkeypatch.setattr(CpuBackend, "program", HostBackend.program)
    wanted = stepped()
    assert any(np.any(values) for values in wanted.values())
    assert all(solver.identical(each, wanted) for each in found)
