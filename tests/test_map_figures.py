"""Maps seen from above: their colours, and which names, lines and coasts are drawn."""

import numpy as np
import pytest

from seismo.output import ResultsWriter, open_results
from seismo.output.figures import peaks


def results_of(path, codes, largest_values, scenario=""):
    """Write a map and a set of receivers, and open them."""
    places = {axis: np.linspace(0.0, 900.0, len(codes)) for axis in "xyz"}
    axes = {axis: np.linspace(0.0, 900.0, len(largest_values)) for axis in "xy"}
    with ResultsWriter(path, scenario_text="", resolved=scenario, attributes={}) as writer:
        writer.create_traces(
            "field", shots=["shot"], codes=codes, positions=places, requested=places,
            time=np.arange(3.0), quantities={"vx": "m/s"},
        )  # fmt: skip
        writer.create_maps(
            "top", shots=["shot"], axes=axes, quantities={"pgv": "m/s"}, plane={"z": 0.0}
        )
        writer.write("maps/top/pgv", 0, largest_values)
    return open_results(path)


@pytest.mark.parametrize(
    ("codes", "is_named"),
    [
        ([f"R{n:04d}" for n in range(4)], True),
        ([f"R{n:04d}" for n in range(9)], False),
        ([f"ST{n}" for n in range(9)], True),
        ([f"ST{n}" for n in range(31)], False),
    ],
)
def test_receivers_are_named_where_they_are_few_or_have_names(tmp_path, codes, is_named):
    with results_of(tmp_path / "a.h5", codes, np.ones((10, 10))) as results:
        texts = {text.get_text() for text in peaks(results).axes[0].texts}
    assert set(codes) & texts == (set(codes) if is_named else set())


@pytest.mark.parametrize(("smallest", "ratio"), [(0.5, 5.0), (0.02, 50.0), (0.0, 1000.0)], ids=str)
def test_a_logarithmic_scale_begins_where_the_values_do(tmp_path, smallest, ratio):
    """At the smallest values but one in a hundred, a fifth to a thousandth of the largest."""
    spread = np.maximum(np.geomspace(1e-9, 1.0, 900).reshape(30, 30), smallest)
    with results_of(tmp_path / "a.h5", ["A"], spread) as results:
        panel = peaks(results, scale="log").axes[0]
    norm = panel.images[0].norm
    assert norm.vmax / norm.vmin == pytest.approx(ratio, rel=0.1)
    assert panel.images[0].get_array().min() == pytest.approx(max(norm.vmin, smallest))
