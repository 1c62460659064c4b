"""ASDF read back by pyasdf: the event with its moment tensor (waveforms: `test_export`)."""

import warnings

import numpy as np
import obspy
import pytest

from seismo import open_results
from seismo.acquisition.moment_tensor import (
    double_couple,
    grid_components,
    to_gcmt,
    to_grid,
)
from seismo.output.export import export, remarks
from seismo.output.results_file import ResultsWriter

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of what it imports
    import pyasdf

TENSOR = double_couple(40.0, 60.0, -20.0, 3e17)
EVENT = 'event: {time: "2008-07-29T18:42:15Z", at: 3.5, id: ci14383980, name: Chino Hills}\n'
PLACE = "geographic: {longitude: -117.761, latitude: 33.953, azimuth: 30.0}\n"


@pytest.mark.parametrize("place", [PLACE, ""])
def test_the_event_has_the_moment_tensor_of_its_only_source(tmp_path, place):
    strength = grid_components(to_grid(TENSOR, 31.0))
    source = {"name": "s", "type": "moment_tensor", "start": 0.0, "moment": strength,
              "x": 0.0, "y": 0.0, "z": 9e3}  # fmt: skip
    x = {"x": np.zeros(1), "z": np.zeros(1)}
    if place:
        source |= {"longitude": -117.7, "latitude": 34.0, "x_azimuth": 31.0}
        x |= {"longitude": np.array([-117.0]), "latitude": np.array([34.0])}
    with ResultsWriter(
        tmp_path / "x.h5", scenario_text="", resolved=place + EVENT, attributes={}
    ) as writer:
        writer.write_sources([source])
        writer.create_traces(
            "net", shots=["shot_000"], codes=["A"], time=0.01 * np.arange(9), positions=x,
            requested=x, quantities={"vz": "m/s"},
        )  # fmt: skip
        writer.write("traces/net/vz", 0, np.ones((1, 9), np.float32))
    with open_results(tmp_path / "x.h5") as results:
        (path,) = export(results, "asdf")
        said = list(remarks(results, "asdf"))
    assert bool(place) != any("has no stations and no event" in line for line in said)
    with pyasdf.ASDFDataSet(str(path), mode="r", mpi=False) as data:
        assert data.waveforms["XX.A"]["synthetic"][0].data[0] == -1.0  # Z is up
        assert len(data.events) == bool(place)
        if place:
            (event,) = data.events
            assert event.event_descriptions[0].text == "Chino Hills"
            assert event.origins[0].time == obspy.UTCDateTime("2008-07-29T18:42:15Z")
            assert event.magnitudes[0].mag == pytest.approx((np.log10(3e17) - 9.1) / 1.5, abs=1e-3)
            tensor = event.focal_mechanisms[0].moment_tensor.tensor
            for name, size in to_gcmt(TENSOR).items():
                assert tensor[f"m_{name}"] == pytest.approx(size, abs=1e-6 * 3e17)
