"""A small inversion of the crosshole kind: files, and settings made ready."""

from __future__ import annotations

from pathlib import Path

import yaml

import seismo
from seismo.backends.communicator import SerialCommunicator
from seismo.inversion.full_waveform.preparation import PreparedInversion
from seismo.inversion.full_waveform.settings import Inversion, load_inversion
from seismo.inversion.survey.preparation import SurveyMachine

SPACING = 10.0
NODES = {"x": 41, "z": 37}
TRUTH = [
    {"type": "uniform", "vp": 2300.0},
    {"type": "sphere", "center": {"x": 200.0, "z": 180.0}, "radius": 60.0, "vp": 2450.0},
]
START = [{"type": "uniform", "vp": 2300.0}]
SETTINGS = {
    "scenario": "scenario.yaml",
    "observed": "observed.h5",
    "parameters": {"vp": {"bounds": [1900.0, 2700.0], "unknown": "slowness"}},
    "start": START,
    "bands": [20.0, "inf"],
    "optimiser": {"iterations": 2},
    "precondition": {"type": "illumination"},
    "smooth": 15.0,
    "mask": {"sources": 40.0},
    "snapshots": 1,
}
ON_ONE_THREAD = SurveyMachine("cpu", None, 1)


def scenario(**keys) -> dict:
    """Return two shots between two boreholes, one at a time; kernels that other tests compile."""
    return {
        "physics": "acoustic",
        "precision": "float64",
        "averaging": "point",
        "grid": {
            "extent": {a: SPACING * (n - 1) for a, n in NODES.items()},
            "spacing": SPACING,
            "order": 4,
        },
        "time": {"duration": 0.2},
        "boundaries": {"top": "free_surface", "layer": {"points": 8}},
        "model": TRUTH,
        "sources": [
            {"type": "pressure", "amplitude": 1e3, "position": {"x": 50.0, "z": 120.0},
             "wavelet": {"type": "ricker", "frequency": 25.0}}
        ],
        "survey": {"shots": [{"position": {"x": 50.0, "z": z}} for z in (120.0, 260.0)],
                   "batch": 1},
        "receivers": [
            {"type": "line", "name": "well", "quantities": ["pressure"], "interval": 2e-3,
             "start": {"x": 350.0, "z": 60.0}, "end": {"x": 350.0, "z": 300.0}, "count": 7},
        ],
    } | keys  # fmt: skip


def write_scenario(folder: Path, **keys) -> None:
    """Write the scenario, and its results as observed traces."""
    (folder / "scenario.yaml").write_text(yaml.safe_dump(scenario(**keys)))
    path = folder / "observed.h5"
    seismo.run(folder / "scenario.yaml", path, backend="cpu", threads=1).close()


def settings(folder: Path, **keys) -> Inversion:
    """Write settings, of which keys are others or None to leave them out, and load them."""
    document = {key: value for key, value in (SETTINGS | keys).items() if value is not None}
    path = folder / "inversion.yaml"
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    return load_inversion(path)


def prepared(folder: Path, **keys) -> PreparedInversion:
    """Return the inversion, ready to run on the CPU."""
    return PreparedInversion(settings(folder, **keys), seismo.Propagator, ON_ONE_THREAD)


class Rank(SerialCommunicator):
    """A rank whose messages are at hand: the first hears what the others have computed."""

    def __init__(self, number: int, count: int) -> None:
        self.number = number
        self.count = count
        self.others: list[list] = []

    def gather(self, value):
        return [value, *self.others]
