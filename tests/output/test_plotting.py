"""Figures: every kind is drawn from a results file and shows the numbers of that file.

What can be computed is compared with the made-up wavefield's closed form; tolerances are those
of float32 storage unless a test says otherwise.
"""

import errno
import importlib
import itertools
import os
import runpy
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import h5py
import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.image import AxesImage
from PIL import Image

from seismo.acquisition.locator import Projection
from seismo.errors import ScenarioError, ScenarioWarning, StorageError
from seismo.output.figures import (
    KINDS,
    draw,
    gather,
    model,
    movie,
    peaks,
    picture_name,
    snapshot,
    spectra,
    traces,
)
from seismo.output.figures.earth_model import _by_distance
from seismo.output.figures.map_marks import beach_ball, round_length
from seismo.output.figures.record_sections import abscissa, reduced, spread, with_gain
from seismo.output.figures.section import CrossSection, sections
from seismo.output.figures.seismograms import (
    _draw_column,
    _print_peaks,
    amplitude_spectrum,
    highest_frequency,
    limit_axes,
    tapered,
    wavelets,
)
from seismo.output.figures.style import STYLE, clip_level, panels
from seismo.output.results import Results, open_results
from seismo.output.results_file import ResultsWriter
from seismo.output.store.layout import axis_label
from solver import slow_but
from synthetic_results import (
    FREQUENCY,
    SHOTS,
    SOURCE_DEPTH,
    motion,
    ricker,
    write_elastic_2d,
    write_elastic_3d,
)

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture(autouse=True)
def coarse(monkeypatch):
    """Draw at 110 dots per inch, a third of the points of 200."""
    monkeypatch.setitem(STYLE, "savefig.dpi", 110)


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    with open_results(write_elastic_2d(tmp_path_factory.mktemp("two") / "two.h5")) as results:
        yield results


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    with open_results(write_elastic_3d(tmp_path_factory.mktemp("three") / "three.h5")) as results:
        yield results


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    path = tmp_path_factory.mktemp("empty") / "empty.h5"
    with ResultsWriter(path, scenario_text="", resolved="", attributes={}):
        pass
    with open_results(path) as results:
        yield results


def panels_of(figure):
    return [panel for panel in figure.axes if panel.get_xlabel() or panel.images]


def assert_whole(figure):
    figure.canvas.draw()
    drawn, page = figure.get_tightbbox(), figure.get_size_inches()
    assert min(drawn.xmin, drawn.ymin) >= 0.0
    assert drawn.xmax <= page[0]
    assert drawn.ymax <= page[1]


def waves(figure):
    """The wavefield images: those with a symmetric colour scale."""
    images = [image for panel in figure.axes for image in panel.get_images()]
    return [i for i in images if isinstance(i, AxesImage) and i.norm.vmin == -i.norm.vmax]


# Figures of traces and of the machine are those of a plane.
IN_SPACE = {"model", "snapshot", "movie", "peaks"} & set(KINDS)


@pytest.mark.parametrize(
    ("kind", "dimensions"),
    [
        pytest.param(kind, dimensions, marks=[pytest.mark.slow] * (kind in rare))
        for dimensions, rare in (("two", IN_SPACE), ("three", set(KINDS) - IN_SPACE))
        for kind in KINDS
    ],
)
def test_every_kind_is_drawn_whole_and_leaves_nothing_else(kind, dimensions, request, tmp_path):
    results = request.getfixturevalue(dimensions)
    path = draw(results, kind, tmp_path / f"figure{KINDS[kind].suffix}")
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    with Image.open(path) as image:
        assert min(image.size) >= 200
        pixels = np.asarray(image.convert("L"))
    assert (pixels < 128).mean() > 0.002, "hardly anything was drawn"
    assert pixels[0].min() > 200, "something is cut off at the upper edge"


def test_a_notebook_shows_figures_and_the_description(two):
    figure = two.plot("gather", shot="shot_b", mode="image")
    assert "shot_b" in figure.get_suptitle()
    assert figure._repr_png_().startswith(b"\x89PNG")
    assert two._repr_html_().startswith(f"<pre>{two.path}")
    with pytest.raises(ScenarioError, match="movie: is a file"):
        two.plot("movie")
    with pytest.raises(ScenarioError, match="gather"):
        two.plot("gathers")
    with pytest.raises(ScenarioError, match="options of gather"):
        two.plot("gather", colour="red")


def test_a_map_whose_colours_saturate_says_its_largest_value(three):
    figure = three.plot("peaks", maps="ground", quantities="pga", clip=50)
    (panel,) = [panel for panel in figure.axes if panel.images and panel.get_xlabel()]
    shown = float(panel.images[0].get_array().max())
    assert panel.get_title().endswith(f", at most {shown:.3g}")
    assert panel.images[0].norm.vmax < shown


def test_the_default_name_stands_beside_the_results(two):
    path = draw(two, "traces")
    assert path == two.path.with_name("two-traces.png")


@pytest.mark.parametrize(
    ("kind", "options", "name"),
    [
        ("gather", {"shot": 1, "mode": "image"}, "two-gather-shot_b.png"),
        ("gather", {"quantities": ["vx", "vz"], "shot": "shot_b", "receivers": "line"},
         "two-gather-line-shot_b-vx-vz.png"),
        ("gather", {"shot": None}, "two-gather.png"),
        ("movie", {"series": "wavefield/shot_b"}, "two-movie-wavefield-shot_b.gif"),
        ("snapshot", {"times": 0.1}, "two-snapshot-0.1.png"),
        ("snapshot", {"times": [0.1, 0.2]}, "two-snapshot-0.1-0.2.png"),
        ("traces", {"codes": "../a, b"}, "two-traces-..-a-b.png"),
    ],
)  # fmt: skip
def test_the_default_name_says_what_is_shown(two, kind, options, name):
    assert picture_name(two, kind, options) == name
    assert len(picture_name(two, "traces", {"codes": ["CI.PAS"] * 99})) < 150


def test_figures_of_two_shots_do_not_replace_each_other(two, tmp_path):
    two_shots = [draw(two, "traces", shot=shot) for shot in SHOTS]
    assert [path.name for path in two_shots] == [f"two-traces-{shot}.png" for shot in SHOTS]


@pytest.mark.parametrize("suffix", slow_but({".svg"}, [".pdf", ".svg"]))
def test_vector_formats(two, tmp_path, suffix):
    assert draw(two, "spectra", tmp_path / f"s{suffix}").stat().st_size > 5000


def test_a_movie_has_a_frame_for_every_snapshot_and_shows_the_source(two, tmp_path):
    with Image.open(draw(two, "movie", tmp_path / "m.gif", shot="shot_b")) as movie:
        assert movie.n_frames == len(two.snapshots["wavefield/shot_000"].time)
        movie.seek(6)
        colours = np.asarray(movie.convert("RGB")).astype(int)
    yellow = np.array([0xF0, 0xE4, 0x42])
    assert (np.abs(colours - yellow).sum(axis=-1) < 60).any(), "the palette lost the source"


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_file_without_the_data_is_refused_in_one_line(empty, kind, tmp_path):
    assert not KINDS[kind].available(empty)
    with pytest.raises(ScenarioError, match="holds no") as caught:
        draw(empty, kind, tmp_path / f"f{KINDS[kind].suffix}")
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("kind", "options", "words"),
    [
        ("snapshots", {}, "did you mean 'snapshot'"),
        ("snapshot", {"feild": "vz"}, "did you mean 'field'"),
        ("snapshot", {"field": "vy"}, "available: vx, vz"),
        ("snapshot", {"shot": "shot_c"}, "available: shot_a, shot_b"),
        ("snapshot", {"shot": 2}, "no shot 2"),
        ("snapshot", {"series": "wavefeild"}, "did you mean"),
        ("snapshot", {"times": [0.1, 9]}, "no snapshot near 9 s; they are from 0 to 0.55 s"),
        ("snapshot", {"count": 0}, "greater than or equal to 1"),
        ("gather", {"receivers": "lines"}, "did you mean 'line'"),
        ("gather", {"mode": "picture"}, "image or wiggle"),
        ("gather", {"by": "azimuth"}, "distance"),
        ("traces", {"codes": "CI.XXX"}, "there is no"),
        ("traces", {"scale": "log"}, "individual or common"),
        ("model", {"parameters": "qp"}, "available: vp, vs, rho"),
        ("spectra", {"quantities": "vz,p"}, "there is no 'p'"),
    ],
)
def test_a_wrong_word_is_answered_with_the_right_ones(two, tmp_path, kind, options, words):
    with pytest.raises(ScenarioError, match=words) as caught:
        draw(two, kind, tmp_path / "f.png", **options)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("kind", "name"), [("model", "f.xyz"), ("movie", "f.png"), ("model", "missing/f.png")]
)
def test_a_wrong_output_path_is_refused(two, tmp_path, kind, name):
    with pytest.raises(ScenarioError):
        draw(two, kind, tmp_path / name)


def test_mp4_without_ffmpeg_names_the_remedy(two, tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda _name: None)
    with pytest.raises(ScenarioError, match=r"use \.gif"):
        draw(two, "movie", tmp_path / "m.mp4")


@pytest.fixture
def short(tmp_path):
    """Receivers that took one sample, three, and 101."""
    with ResultsWriter(tmp_path / "s.h5", scenario_text="", resolved="", attributes={}) as writer:
        for name, count in (("once", 1), ("thrice", 3), ("often", 101)):
            places = {"x": np.arange(2.0), "z": np.zeros(2)}
            time = np.linspace(0.0, 1.0, count)
            writer.create_traces(
                name, shots=["shot"], codes=["A", "B"], positions=places, requested=places,
                time=time, quantities={"vz": "m/s"},
            )  # fmt: skip
            writer.write(f"traces/{name}/vz", 0, np.tile(ricker(time - 0.5, 3.0), (2, 1)))
    with open_results(tmp_path / "s.h5") as results:
        yield results


@pytest.mark.parametrize("kind", ["gather", "traces", "spectra"])
def test_traces_of_one_sample_are_left_out(short, tmp_path, kind):
    with pytest.raises(ScenarioError, match="receivers once: one sample in every trace"):
        draw(short, kind, tmp_path / "f.png", receivers="once")
    for other in ("thrice", None):
        draw(short, kind, tmp_path / "f.png", receivers=other)


@pytest.fixture(scope="module")
def part(tmp_path_factory):
    """Results of a run of two shots that were stored up to the third snapshot of the first."""
    path = tmp_path_factory.mktemp("part") / "whole.h5"
    x, time = np.arange(0.0, 101.0, 10.0), 0.01 * np.arange(101)
    places = {"x": x, "z": np.zeros(x.size)}
    codes, shots = [f"R{k}" for k in range(x.size)], ["a", "b"]
    with ResultsWriter(path, scenario_text="", resolved="", attributes={"title": "T"}) as writer:
        axes, names = {"z": x, "x": x}, {"vz": "m/s"}
        folder = writer.create_snapshots(
            "w", shot=None, axes=axes, times=np.arange(9.0), fields=names
        )
        writer.create_traces(
            "line", shots=shots, codes=codes, positions=places, requested=places, time=time,
            quantities=names,
        )  # fmt: skip
        writer.create_maps("m", shots=shots, axes=axes, quantities={"pgv": "m/s"}, plane={})
        for frame in range(3):
            writer.write(f"{folder}/vz", frame, np.full((x.size, x.size), 1.0 + frame))
        writer.write("traces/line/vz", 0, np.tile(ricker(time - 0.4, 5.0), (x.size, 1)))
        writer.seal(5, {"message": "until t = 2 s of 8 s", "until": 2.0})
        with open_results(writer.parts.folder / "part-000.h5") as results:
            yield results


def test_figures_of_a_part_show_what_there_is_and_say_how_far_it_goes(part):
    figure = snapshot(part)
    titles = [panel.get_title(loc="left") for panel in panels_of(figure)]
    assert [title for title in titles if title] == ["t = 1 s", "t = 2 s"]
    assert figure.get_suptitle().startswith("T, unfinished (until t = 2 s)")
    assert "unfinished (until t = 2 s)" in gather(part, shot="a").get_suptitle()


@pytest.mark.parametrize(
    ("kind", "options", "words"),
    [
        ("peaks", {}, "m: nothing of pgv is stored, the run is unfinished"),
        ("gather", {"shot": "b"}, "line: nothing of vz is stored, the run is unfinished"),
        ("traces", {"shot": "b"}, "line: nothing of vz is stored, the run is unfinished"),
        ("spectra", {"shot": "b"}, "line: nothing of vz is stored, the run is unfinished"),
        ("snapshot", {"times": [7.0]}, "no snapshot near 7 s; they are from 0 to 2 s"),
    ],
)
def test_a_figure_that_would_be_empty_is_refused(part, tmp_path, kind, options, words):
    with pytest.raises(ScenarioError, match=words):
        draw(part, kind, tmp_path / "a.png", **options)


def test_a_full_disk_leaves_nothing(two, tmp_path, monkeypatch):
    def full(self, path, **_options):
        Path(path).write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", full)
    with pytest.raises(StorageError, match="No space left"):
        draw(two, "model", tmp_path / "f.png")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["model", "movie"])
def test_a_read_only_file_system_is_named_with_the_remedy(two, tmp_path, monkeypatch, kind):
    """There even removing what does not exist is refused."""

    def refuse(*_arguments, **_options):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    for call in ("matplotlib.figure.Figure.savefig", "PIL.Image.Image.save", "pathlib.Path.unlink"):
        monkeypatch.setattr(call, refuse)
    with pytest.raises(ScenarioError, match="Read-only file system; choose a folder") as caught:
        draw(two, kind, tmp_path / f"f{KINDS[kind].suffix}")
    assert "\n" not in str(caught.value)


def test_drawing_changes_no_global_setting(two):
    # The backend is left out: matplotlib chooses it when it is first asked for.
    before = {name: mpl.rcParams[name] for name in mpl.rcParams if name != "backend"}
    model(two)
    assert {name: mpl.rcParams[name] for name in before} == before


@pytest.mark.parametrize(
    ("azimuth", "across", "up"),
    [(210.0, 1, -1), *(pytest.param(*case, marks=pytest.mark.slow)
                       for case in ((0.0, 0, 1), (90.0, -1, 0)))],
)  # fmt: skip
def test_a_map_of_a_place_points_north(three, monkeypatch, azimuth, across, up):
    """Up the page is x, that points `azimuth` degrees clockwise from north."""
    monkeypatch.setattr(Results, "azimuth", azimuth)
    figure = peaks(three, section="z")
    (north,) = (t for t in figure.axes[0].texts if t.get_text() == "N")
    assert np.sign(np.round(np.subtract(north.xyann, north.xy), 9)).tolist() == [across, up]
    figure.draw_without_rendering()
    inside, drawn = figure.axes[0].get_window_extent(), north.get_window_extent()
    assert inside.y0 < drawn.y0 < drawn.y1 < inside.y1, "it covers no title"
    assert inside.x0 < drawn.x0 < drawn.x1 < inside.x1
    monkeypatch.undo()
    assert three.azimuth is None
    assert "N" not in {t.get_text() for t in peaks(three, section="z").axes[0].texts}


def test_the_azimuth_is_that_of_the_scenario(two, monkeypatch):
    monkeypatch.setattr(Results, "scenario", "geographic: {longitude: 1.0, azimuth: 30.0}")
    assert two.azimuth == 30.0


def test_maps_show_the_shot_and_the_quantities_asked_for(two, three):
    figure = peaks(two, shot="shot_b")
    (image,) = figure.axes[0].images
    values = two.maps["peaks"].values_of("pgv", 1)
    scale = image.get_array().max() / values.max()
    np.testing.assert_allclose(image.get_array(), scale * values, rtol=1e-6)
    assert "shot_b" in figure.get_suptitle()
    figure = peaks(three, quantities="pga,szz")
    assert [len(axes.images) for axes in figure.axes[:2]] == [1, 1]
    assert "z = 0 m" in figure.get_suptitle()
    with pytest.raises(ScenarioError, match=r"pgv.*available: szz, pga, pgv_horizontal"):
        peaks(three, quantities="pgv")


def test_no_colour_bar_is_labelled_where_a_panel_stands_to_its_right(two, three):
    """Its label would read as the vertical axis of that panel."""
    for figure, titles in (
        (model(two), ["$v_{p}$ (m/s)", "$v_{s}$ (m/s)", "$\\rho$ (kg/m³)"]),
        (peaks(three), ["$\\sigma_{zz}$ (Pa)", "PGA (mm/s²)", "PGV horizontal (µm/s)"]),
    ):
        shown = [panel.get_title().partition(", at most")[0] for panel in figure.axes]
        assert [title for title in shown if title] == titles
        bars = [bar for panel in figure.axes for bar in panel.child_axes]
        assert [bar.get_ylabel() for bar in bars] == [""] * 3
    bars = [bar for panel in model(three).axes for bar in panel.child_axes]
    assert [bar.get_ylabel() for bar in bars] == ["$v_{p}$ (m/s)", "$\\rho$ (kg/m³)"]


@pytest.mark.parametrize("kind", [gather, traces, spectra, snapshot, peaks])
def test_the_title_says_which_shot_is_shown_and_how_many_there_are(two, three, kind):
    assert "shot_b, one of 2 shots" in kind(two, shot="shot_b").get_suptitle()
    assert "one of" not in kind(three).get_suptitle()


def test_a_long_title_takes_another_line(tmp_path):
    title = "A title that is much longer than a narrow figure is wide " * 2
    times, place = 0.1 * np.arange(9), {"x": np.arange(3.0), "z": np.zeros(3)}
    attributes = {"title": title}
    path = tmp_path / "a.h5"
    with ResultsWriter(path, scenario_text="", resolved="", attributes=attributes) as writer:
        writer.create_traces(
            "line", shots=["1", "2"], codes=list("ABC"), positions=place, requested=place,
            time=times, quantities={"vz": "m/s"},
        )  # fmt: skip
        for shot in range(2):
            writer.write("traces/line/vz", shot, np.outer(np.ones(3), times))
    with open_results(path) as results:
        # The name of a shot comes before its number.
        figure = gather(results, shot=1)
        assert "1, one of 2 shots" in figure.get_suptitle()
        assert_whole(figure)


def test_a_title_that_is_no_utf_8_is_drawn_with_replacement_characters(tmp_path):
    path = write_elastic_2d(tmp_path / "two.h5")
    with h5py.File(path, "r+") as file:
        kind = h5py.string_dtype("utf-8")
        file.attrs.create("title", b"T\xffo shots", dtype=kind)
        file["traces/line/vx"].attrs.create("units", b"m/\xff", dtype=kind)
    with open_results(path) as results:
        draw(results, "gather", tmp_path / "gather.png")
        assert gather(results).get_suptitle().startswith("T\N{REPLACEMENT CHARACTER}o shots")


def test_labels_beside_panels_to_scale_keep_within_the_picture(tmp_path):
    points = 100.0 * np.arange(61)
    names = ("sxx", "pgv")
    with ResultsWriter(tmp_path / "a.h5", scenario_text="", resolved="", attributes={}) as writer:
        writer.create_maps(
            "peaks", shots=["shot"], axes={"x": points, "y": points},
            quantities=dict.fromkeys(names, "m/s"), plane={"z": 0.0},
        )  # fmt: skip
        for name in names:
            writer.write(f"maps/peaks/{name}", 0, 1e-2 / (1.0 + np.hypot.outer(points, points)))
    with open_results(tmp_path / "a.h5") as results:
        assert_whole(peaks(results))


def test_labels_of_wavelets_keep_within_the_picture(tmp_path):
    """Ticks of one decimal and of two asked the layout for each other."""
    time = np.arange(0.0, 7.0, 0.0166)
    pulse = 1.5312 * np.exp(-(((time - 1.737) / 0.3684) ** 2))
    with ResultsWriter(tmp_path / "a.h5", scenario_text="", resolved="", attributes={}) as writer:
        writer.write_wavelets(time, pulse[None], ["earthquake"])
    with open_results(tmp_path / "a.h5") as results:
        for dpi in (100, 200):
            figure = wavelets(results)
            figure.set_dpi(dpi)
            figure.canvas.draw()
            assert figure.axes[0].yaxis.label.get_window_extent().x0 >= 0.0


def test_the_source_leaves_the_rest_of_a_map_its_colours(tmp_path):
    """Static stress beside a source is 3e4 times that of the waves at the edge of the map."""
    points = 10.0 * np.arange(-50, 51)
    distance = np.hypot(*np.meshgrid(points, points)) + 5.0
    names = ("sxx", "sxz", "pgv", "pga")
    with ResultsWriter(tmp_path / "a.h5", scenario_text="", resolved="", attributes={}) as writer:
        writer.create_maps(
            "peaks", shots=["shot"], axes={"z": points, "x": points},
            quantities=dict.fromkeys(names, "Pa"), plane={},
        )  # fmt: skip
        for name in names:
            writer.write(f"maps/peaks/{name}", 0, 1e6 / distance**3 + 1e2 / distance)
    with open_results(tmp_path / "a.h5") as results:
        figure = peaks(results)
    image = figure.axes[0].get_images()[0]
    shown = np.asarray(image.get_array()) / image.norm.vmax
    assert np.median(shown) > 0.05
    assert np.mean(shown > 1.0) < 0.05
    assert_whole(figure)


def test_snapshots_show_the_wavefield_at_the_times_asked_for(two):
    figure = snapshot(two, field="vx", shot="shot_b", times=[0.1, 0.3])
    images = waves(figure)
    assert [p.get_title(loc="left") for p in panels_of(figure)[:2]] == ["t = 0.1 s", "t = 0.3 s"]
    series = two.snapshots["wavefield/shot_001"]
    grid = np.meshgrid(series.axes["x"] - SHOTS["shot_b"], series.axes["z"] - SOURCE_DEPTH)
    for image, time in zip(images, (0.1, 0.3), strict=True):
        shown, expected = np.asarray(image.get_array()), motion(grid, time)[0]
        scale = shown.ravel() @ expected.ravel() / (expected.ravel() @ expected.ravel())
        assert scale == pytest.approx(1e6, rel=1e-5)  # the axis is labelled in µm/s
        np.testing.assert_allclose(shown / scale, expected, atol=1e-6 * np.abs(expected).max())
    assert figure.axes[-1].get_xlabel() == "$v_{x}$ (µm/s)"


def test_depth_points_down_and_everything_is_to_scale(two, three):
    for results in (two, three):
        for panel in panels_of(model(results)):
            if panel.get_ylabel().startswith("z"):
                low, high = panel.get_ylim()
                assert low > high
                assert panel.get_aspect() == 1.0
    units = {panel.get_xlabel()[-3:] for panel in panels_of(model(three))}
    assert units == {"km)"}


def test_sections_of_a_volume_meet_at_the_source(three):
    axes = three.model.axes
    cuts = sections(axes, {"x": 14000.0, "y": 11000.0, "z": 7000.0})
    assert [cut.title() for cut in cuts] == ["y = 11 km", "x = 14 km", "z = 7 km"]
    assert [cut.index(axes) for cut in cuts] == [
        (slice(None), 22, slice(None)),
        (slice(None), slice(None), 28),
        (14, slice(None), slice(None)),
    ]
    # A map is seen from above: x, north, points up and y, east, to the right.
    values = np.arange(49 * 61).reshape(49, 61)
    np.testing.assert_array_equal(cuts[2].oriented(values, axes), values.T)
    assert (cuts[2].horizontal, cuts[2].vertical) == ("y", "x")


@pytest.fixture
def shaken(tmp_path):
    """Largest values in a volume under a free surface: growing with z, and most at one point."""
    path, x, z = tmp_path / "a.h5", np.arange(0.0, 501.0, 100.0), np.arange(50.0, 351.0, 100.0)
    resolved = "boundaries: {top: free_surface}\ngrid: {origin: {z: 50.0}}\n"
    with ResultsWriter(path, scenario_text="", resolved=resolved, attributes={}) as writer:
        writer.write_sources([{"name": "s", "type": "force", "x": 200.0, "y": 100.0, "z": 250.0}])
        writer.create_maps(
            "m", shots=["a"], axes={"z": z, "y": x, "x": x}, quantities={"pgv": "m/s"}, plane={}
        )
        values = np.tile(1.0 + np.arange(4.0)[:, None, None], (1, 6, 6))
        values[2, 1, 3] = 9.0
        writer.write("maps/m/pgv", 0, values)
    with open_results(path) as results:
        yield results


@pytest.mark.parametrize(
    ("section", "title", "least"),
    [
        (None, "z = 50 m", 1.0), ("z", "z = 50 m", 1.0), ("y", "y = 100 m", 1.0),
        ("z:240", "z = 250 m", 3.0), ("z: 0.35 km", "z = 350 m", 4.0), ("x:0 m", "x = 0 m", 1.0),
        ("x:490 m", "x = 500 m", 1.0),
    ],
)  # fmt: skip
def test_a_map_is_cut_at_the_free_surface_or_where_it_is_asked_for(shaken, section, title, least):
    beside = section in ("z:240", "x:490 m")
    with pytest.warns(ScenarioWarning, match="is drawn") if beside else nullcontext():
        figure = peaks(shaken, section=section)
    assert title in figure.get_suptitle()
    assert panels_of(figure)[0].images[0].get_array().min() == least


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ("z:9 km", "section 'z:9 km': z is from 50 to 350 m here"),
        ("z:9 s", "section 'z:9 s': .*length"),
        ("t:5", "name the axis to cut, x, y or z, and where if you like"),
    ],
)
def test_a_section_that_cannot_be_is_one_line(shaken, section, words):
    with pytest.raises(ScenarioError, match=words):
        peaks(shaken, section=section)


@pytest.mark.parametrize("section", ["z:500", "z", "q:5", "y:0"])
def test_a_plane_is_not_cut(two, section):
    with pytest.raises(ScenarioError, match=f"section '{section}': only the plane z-x is stored"):
        snapshot(two, section=section)


def test_a_plane_that_is_not_cut_names_the_volumes_beside_it(three):
    message = "section 'z:500': only the plane y-x is stored here; choose series=volume, or"
    with pytest.raises(ScenarioError, match=message):
        snapshot(three, series="surface", section="z:500")


def test_a_coordinate_that_is_none_is_refused_with_the_list_of_them(three):
    stations = three.traces["stations"]
    assert len(stations.coordinate("x", 0)) == len(stations.codes)
    with pytest.raises(ScenarioError, match=r"stations: there is no 'q' \(available: .*x"):
        stations.coordinate("q", 0)


def test_info_says_where_a_map_is_largest(shaken):
    assert "peak      pgv 9 m/s at x 300, y 100, z 250 m" in shaken.info()


def test_a_plane_series_is_drawn_as_a_map(three):
    figure = snapshot(three, series="surface", times=[5.0])
    panel = figure.axes[0]
    assert (panel.get_xlabel(), panel.get_ylabel()) == ("y (km)", "x (km)")
    shown = np.asarray(waves(figure)[0].get_array())
    assert shown.shape == (61, 49)
    expected = three.snapshots["surface"].frame("vz", 5).T
    assert np.corrcoef(shown.ravel(), expected.ravel())[0, 1] > 0.999999


@pytest.mark.parametrize(("where", "on", "source"), [("y:9 km", 1, "none"), ("y:11 km", 0, None)])
def test_marks_beside_a_section_are_hollow(three, where, on, source):
    """One of six stations stands at y = 9 km, the source at 11 km; others lie off by kilometres."""
    figure = snapshot(three, series="volume", times=[5.0], section=where)
    marks = {mark.get_label(): mark for mark in figure.axes[0].get_lines()}
    assert len(marks["receivers beside the section"].get_xdata()) == 6 - on
    assert ("receivers" in marks) == bool(on)
    (star,) = (mark for mark in marks.values() if mark.get_marker() == "*")
    assert (star.get_markerfacecolor() == "none") == (source == "none")
    assert "hollow marks: beside it" in figure.get_suptitle()
    # A map shows all below it.
    panel = snapshot(three, series="surface", times=[5.0]).axes[0]
    assert not any("beside" in str(mark.get_label()) for mark in panel.get_lines())


def test_a_cell_across_a_section_is_as_wide_as_the_grid_is_there():
    """Whatever the step along it; that where the section is all that is stored."""
    section = CrossSection("x", "z", "y", 200.0)
    axes = {"z": np.arange(5.0), "y": np.arange(0.0, 500.0, 100.0), "x": np.arange(0.0, 90.0, 10.0)}
    positions = np.array([[20.0] * 3, [2.0] * 3, [200.0, 290.0, 310.0]])
    on, beside = _by_distance(positions, section, axes, {"y": 200.0})
    assert (on.shape[1], beside.shape[1]) == (2, 1)
    del axes["y"]
    on, beside = _by_distance(positions - [[0.0], [0.0], [85.0]], section, axes, {"y": 200.0})
    assert (on.shape[1], beside.shape[1]) == (1, 2)
    # Of one column, too.
    axes["x"] = np.array([20.0])
    axes["z"] *= 100.0
    on, beside = _by_distance(positions, section, axes, {"y": 200.0})
    assert (on.shape[1], beside.shape[1]) == (2, 1)


def test_the_legend_of_models_has_the_first_mark_of_each_kind(three, monkeypatch):
    colours = iter(("red", "green", "blue"))

    def marked(panel, *_: object) -> list:
        return panel.plot([0.0], [0.0], "v", color=next(colours), label="receivers")

    module = importlib.import_module("seismo.output.figures.earth_model")
    monkeypatch.setattr(module, "draw_geometry", marked)
    (mark,) = model(three, parameters=["vp"]).legends[0].get_lines()
    assert mark.get_color() == "red"


def test_stations_at_one_distance_do_not_cover_each_other(tmp_path):
    """Four stations around the source and two in one hole: six traces, six places."""
    time, around = 0.01 * np.arange(101), np.array([-300.01, 300.0, 0.0, 0.0, 500.0, 500.0])
    positions = {"x": around, "y": around[[2, 3, 0, 1, 2, 3]], "z": np.arange(6) * 90.0}
    codes = [f"S{k}" for k in range(6)]
    with ResultsWriter(tmp_path / "a.h5", scenario_text="", resolved="", attributes={}) as writer:
        writer.write_sources([{"name": "s", "type": "force", "x": 0.0, "y": 0.0, "z": 0.0}])
        writer.create_traces(
            "ring", shots=["shot"], codes=codes, positions=positions, requested=positions,
            time=time, quantities={"vz": "m/s"},
        )  # fmt: skip
        writer.write("traces/ring/vz", 0, np.tile(ricker(time - 0.4, 5.0), (6, 1)))
    with open_results(tmp_path / "a.h5") as results:
        for mode in ("wiggle", "image"):
            panel = panels_of(gather(results, mode=mode))[0]
            assert panel.get_xlabel() == "horizontal distance (m)\nnot to scale"
            labels = [tick.get_text() for tick in panel.get_xticklabels()]
            places = np.hypot(positions["x"], positions["y"])
            assert labels == [f"{np.sort(places)[int(n)]:.3g}" for n in panel.get_xticks()]
        assert gather(results, by="number").axes[0].get_xlabel() == "receiver number"
        panel = panels_of(gather(results, mode="wiggle"))[0]
        starts = [line.get_xdata()[0] for line in panel.lines]
        assert np.allclose(starts, range(6), atol=1e-6)
        assert [tick.get_text() for tick in panel.child_axes[0].get_xticklabels()] == codes


def test_distances_are_told_in_the_unit_of_the_line():
    place, ticks = spread(np.repeat(np.arange(0.0, 2500.0, 250.0), 2))
    assert list(ticks.values()) == ["0", "500", "1000", "1500", "2000"]
    _, ticks = spread(np.array([2.9541, 3.0632, 3.0637, 3.3318, 3.3762]))
    assert list(ticks.values()) == ["2.95", "3.06", "3.06", "3.33", "3.38"]  # beside each other
    x = np.linspace(0.0, 4000.0, 41)
    columns = {"x": x, "z": 0 * x, "y": None}
    line = SimpleNamespace(
        codes=[""] * 41, column=columns.get, coordinate=lambda name, shot: columns[name]
    )
    place, label = abscissa(line, 0, {"x": 2000.0, "z": 300.0}, "distance")
    assert label == "horizontal distance (km)"
    assert np.allclose(place, np.abs(x - 2000.0) / 1e3)
    place, label = abscissa(line, 0, {"x": 2000.0, "z": 300.0}, "offset")
    assert label == "offset (km)"
    assert np.allclose(place, (x - 2000.0) / 1e3)
    columns["z"] = -800.0 * np.exp(-(((x - 2000.0) / 600.0) ** 2))  # along a hill
    place, label = abscissa(line, 0, {"x": 2000.0, "z": 300.0}, None)
    assert label == "x (km)"
    assert np.allclose(place, x / 1e3)


def test_a_gather_of_zeros_says_so(tmp_path):
    """One whose waves have not arrived."""
    where = {axis: np.zeros(3) for axis in "xyz"}
    with ResultsWriter(tmp_path / "a.h5", scenario_text="", resolved="", attributes={}) as writer:
        writer.write_sources([{"name": "s", "type": "force", "x": 0.0, "y": 0.0, "z": 0.0}])
        writer.create_traces(
            "far", shots=["shot"], codes=["A", "B", "C"], positions=where, requested=where,
            time=np.arange(5.0), quantities={"vx": "m/s", "vz": "m/s"},
        )  # fmt: skip
        writer.write("traces/far/vx", 0, np.ones((3, 5)))
        writer.write("traces/far/vz", 0, np.zeros((3, 5)))
    with open_results(tmp_path / "a.h5") as results:
        for mode in ("wiggle", "image"):
            moving, still = panels_of(gather(results, mode=mode))[:2]
            assert "all samples are 0" not in [text.get_text() for text in moving.texts]
            assert "all samples are 0" in [text.get_text() for text in still.texts]


def test_a_normalised_gather_says_so(two):
    figure = gather(two, normalise=True, mode="image", quantities="vx")
    assert "$v_{x}$, of each trace's peak" in [axes.get_xlabel() for axes in figure.axes]
    figure = gather(two, normalise=True, mode="wiggle", quantities="vx")
    assert figure.axes[0].get_title() == "$v_{x}$, each to its own peak"


def test_the_gather_shows_arrivals_where_theory_has_them(two):
    figure = gather(two, receivers="line", quantities="vz", shot="shot_a", mode="image")
    panel = figure.axes[0]
    assert panel.get_xlabel() == "offset (m)"  # of several shots
    low, high = panel.get_ylim()
    assert low > high, "time runs down the page"
    mesh = np.asarray(panel.collections[0].get_array())
    assert mesh.shape == (401, 101)
    np.testing.assert_allclose(mesh, 1e6 * two.traces["line"].values_of("vz", 0).T, rtol=1e-6)


def test_a_trace_above_the_source_does_not_flatten_the_others(tmp_path):
    """Peaks of 1 to 9 and one of 1e4: the median 5.5 is one spacing, and the most is 2.5."""
    x, time = np.arange(10) * 50.0, 0.01 * np.arange(101)
    size = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 1e4, 6.0, 7.0, 8.0, 9.0])
    places = {"x": x, "z": np.zeros(10)}
    with ResultsWriter(tmp_path / "a.h5", scenario_text="", resolved="", attributes={}) as writer:
        writer.create_traces(
            "line", shots=["shot"], codes=[f"R{k}" for k in range(10)], positions=places,
            requested=places, time=time, quantities={"vz": "m/s"},
        )  # fmt: skip
        writer.write("traces/line/vz", 0, size[:, None] * ricker(time - 0.5, 5.0))
    with open_results(tmp_path / "a.h5") as results:
        panel = gather(results).axes[0]
    swings = np.array([line.get_xdata().max() for line in panel.get_lines()]) - x
    np.testing.assert_allclose(swings, 50.0 * np.minimum(size / 5.5, 2.5), rtol=1e-6)
    assert "spacing = 5.5 m/s\nmedian of the peaks, cut at 2.5" in panel.get_title()


@pytest.mark.parametrize(
    ("size", "title", "swings"),
    [
        # Two large among six: each to its own.
        ([5e-3, 3e-3, 3e-6, 2e-6, 4e-6, 2.5e-6], "each to its own peak\n2 µm/s to 5 mm/s", [1] * 6),
        # What is on a nodal line has rounding only, and is no signal.
        ([5e-3, 4e-8, 3e-8, 2e-8, 1e-8, 0.0], "one spacing = 5 mm/s", [1, 0, 0, 0, 0, 0]),
        (
            [7.5, 4.0, 3.0, 2.0, 2.0, 1.0],
            "one spacing = 2.5 m/s\nmedian",
            [2.5, 1.6, 1.2, 0.8, 0.8, 0.4],
        ),
    ],
)
def test_stations_of_very_different_peaks_are_no_boxes(tmp_path, size, title, swings):
    x, time = np.arange(6) * 50.0, 0.01 * np.arange(101)
    places = {"x": x, "z": np.zeros(6)}
    with ResultsWriter(tmp_path / "a.h5", scenario_text="", resolved="", attributes={}) as writer:
        writer.create_traces(
            "line", shots=["shot"], codes=[f"R{k}" for k in range(6)], positions=places,
            requested=places, time=time, quantities={"vz": "m/s"},
        )  # fmt: skip
        writer.write("traces/line/vz", 0, np.array(size)[:, None] * ricker(time - 0.5, 5.0))
    with open_results(tmp_path / "a.h5") as results:
        panel = gather(results).axes[0]
        common = gather(results, normalise=False).axes[0]
    found = np.array([line.get_xdata().max() for line in panel.get_lines()]) - x
    np.testing.assert_allclose(found, 50.0 * np.array(swings), rtol=1e-6, atol=0.001)
    assert panel.get_title().startswith(f"$v_{{z}}$ (down), {title}")
    assert "own peak" not in common.get_title()


def test_few_stations_are_all_told_their_distance():
    place, ticks = spread(np.array([0.0, 3.0, 9.0, 9.04, 9.1, 10.0]))
    assert list(place) == list(ticks) == list(range(6))
    assert list(ticks.values()) == ["0", "3", "9", "9", "9.1", "10"]


def test_stations_off_a_line_are_ordered_by_distance(three):
    figure = gather(three, quantities="vz")
    panel = figure.axes[0]
    assert panel.get_xlabel() == "horizontal distance (km)"
    x, y = three.traces["stations"].x - 14000.0, three.traces["stations"].y - 11000.0
    starts = [line.get_xdata()[0] for line in panel.get_lines()]
    np.testing.assert_allclose(starts, np.sort(np.hypot(x, y)) / 1e3, rtol=1e-9)


def test_traces_carry_their_codes_and_peaks(two):
    figure = traces(two, receivers="stations", shot=1)
    labels = [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    assert labels == two.traces["stations"].codes
    peak = np.abs(two.traces["stations"].values_of("vx", 1)[0]).max() * 1e9
    assert figure.axes[0].texts[0].get_text() == f"{peak:.3g} nm/s"


def test_many_components_are_narrower(tmp_path):
    time, names = 0.01 * np.arange(101), ["vx", "vy", "vz", "ax", "ay", "az"]
    places = {"x": np.zeros(1), "z": np.zeros(1)}
    with ResultsWriter(tmp_path / "a.h5", scenario_text="", resolved="", attributes={}) as writer:
        writer.create_traces(
            "line", shots=["shot"], codes=["R"], positions=places, requested=places, time=time,
            quantities=dict.fromkeys(names, "m/s"),
        )  # fmt: skip
        for name in names:
            writer.write(f"traces/line/{name}", 0, ricker(time - 0.5, 5.0)[None])
    with open_results(tmp_path / "a.h5") as results:
        widths = [traces(results, quantities=names[:n]).get_figwidth() for n in (1, 3, 6)]
    np.testing.assert_allclose(widths, [6.6, 9.2, 11.4])


def test_nine_components_stand_in_two_rows_and_say_their_scale(three):
    figure = traces(three, quantities=("vx,vy,vz," * 3).split(",")[:9])
    assert figure.axes[0].get_subplotspec().get_gridspec().get_geometry() == (2, 5)
    assert [panel.get_visible() for panel in figure.axes] == 9 * [True] + [False]
    assert figure.get_suptitle().endswith("each trace to its own peak")


def test_common_scale_keeps_the_ratio_of_amplitudes(two):
    figure = traces(two, receivers="stations", scale="common")
    heights = [np.ptp(line.get_ydata()) for panel in figure.axes for line in panel.get_lines()]
    stations = two.traces["stations"]
    spans = np.concatenate([np.ptp(stations.values_of(n, 0), axis=-1) for n in ("vx", "vz")])
    np.testing.assert_allclose(np.array(heights) / heights[0], spans / spans[0], rtol=1e-5)


def test_the_spectrum_of_a_ricker_pulse_is_the_known_one():
    # Ricker (1953): |S(f)| = 2 f^2 / (sqrt(pi) f0^3) exp(-(f / f0)^2). The pulse is analytic and
    # sampled far above its band, so the discrete sum is exact up to rounding.
    time = 0.002 * np.arange(500)
    frequency, amplitude = amplitude_spectrum(time, ricker(time - 0.5))
    ratio = frequency / FREQUENCY
    expected = 2 * ratio**2 / (np.sqrt(np.pi) * FREQUENCY) * np.exp(-(ratio**2))
    np.testing.assert_allclose(amplitude, expected, atol=1e-9 * expected.max())


def test_the_end_of_a_trace_does_not_spread_over_its_spectrum():
    """A displacement that stays, as in the near field: tanh rises without corners.

    The step back at its end has 1 / (2 pi f) at all frequencies. The taper, half a cosine of
    length T = 2 s, has 1 / (2 pi f) / ((2 f T)^2 - 1) of it at most twice (once for each corner).
    """
    time = 0.01 * np.arange(2000)
    stays = 0.5 * (1.0 + np.tanh((time - 5.0) / 0.3))
    frequency, cut = amplitude_spectrum(time, stays)
    _, amplitude = amplitude_spectrum(time, tapered(stays))
    high = (frequency > 3.0) & (frequency < 20.0)
    step = 1.0 / (2.0 * np.pi * frequency[high])
    assert np.all(cut[high] > 0.9 * step)
    assert np.all(amplitude[high] < 2.1 * step / ((4.0 * frequency[high]) ** 2 - 1.0))


def test_f_max_is_recorded_or_found_40_db_down(two, three):
    assert highest_frequency(two) == 37.0
    # x^2 exp(1 - x^2) = 0.01 has the root x = 2.7601; the spectrum is sampled every 1 / 15 Hz.
    assert highest_frequency(three) == pytest.approx(2.7601, abs=1 / 15.05)
    labels = [text.get_text() for text in spectra(two).axes[0].texts]
    assert labels == ["$f_{max}$ = 37 Hz"]


@pytest.mark.parametrize("first", [1e-4, 0.01, 0.017, 0.9, 1.96, 5.1])
def test_frequencies_are_labelled_without_overlap(first):
    """Panels as narrow as those of three spectra, from a factor of 2 to five decades."""
    with mpl.rc_context(STYLE):
        figure, ((panel, _, _),) = panels(1, 3, 3.0)
        panel.loglog([first, 10.3], [1.0, 0.1])
        limit_axes(panel, np.array([0.0, first, 10.3]), 1.0, None)
        figure.draw_without_rendering()
    boxes = [
        label.get_window_extent()
        for label, x in zip(panel.get_xticklabels(), panel.get_xticks(), strict=True)
        if first <= x <= 10.3
    ]
    assert len(boxes) > 1
    ends = sorted((box.x0, box.x1) for box in boxes)
    assert all(end + 2.0 < start for (_, end), (start, _) in itertools.pairwise(ends))


def test_the_clip_ignores_what_is_at_rest():
    values = np.zeros(100_000)
    values[:100] = np.arange(1, 101)
    assert clip_level(values, 99.0) == pytest.approx(np.percentile(values[:100], 99))
    values[0] = 1e4  # the stress at a source leaves the waves their colours
    assert clip_level(values, 99.0) == pytest.approx(np.percentile(values[:100], 99))
    assert clip_level(np.zeros(10), 99.0) == 1.0
    assert np.isfinite(clip_level(np.array([np.nan, 1.0, 2.0]), 99.0))


def test_sources_and_receivers_are_marked_where_they_are(two):
    figure = model(two, parameters="vp")
    stars = [line for line in figure.axes[0].get_lines() if line.get_marker() == "*"]
    np.testing.assert_array_equal(stars[0].get_xdata(), list(SHOTS.values()))
    np.testing.assert_array_equal(stars[0].get_ydata(), [SOURCE_DEPTH] * 2)
    one = [p for p in snapshot(two, shot="shot_b", times=0.2).axes[0].get_lines()
           if p.get_marker() == "*"]  # fmt: skip
    np.testing.assert_array_equal(one[0].get_xdata(), [SHOTS["shot_b"]])


def test_a_long_line_hides_no_station(two):
    """Of 101 receivers on a line some are marked, of five stations all."""
    figure = model(two, parameters="vp")
    marks = next(m for m in figure.axes[0].get_lines() if m.get_marker() == "v")
    assert set(two.traces["stations"].column("x")) <= set(marks.get_xdata())
    assert len(marks.get_xdata()) < 50


@pytest.mark.parametrize(
    ("x", "z"),
    [
        pytest.param((500, 1100), (10, 600), marks=pytest.mark.slow),
        pytest.param((0, 2000), (300, 500), marks=pytest.mark.slow),
        ((900, 1000), (0, 700)),
    ],
)
def test_a_box_shows_what_lies_in_it_and_nothing_runs_over_its_panel(tmp_path, x, z):
    """Sources and receivers beyond the box are left out; all labels keep within the picture."""
    axes = {"z": np.arange(z[0], z[1] + 1.0, 10.0), "x": np.arange(x[0], x[1] + 1.0, 10.0)}
    down = {"x": np.full(8, 950.0), "z": np.arange(8) * 100.0}
    with ResultsWriter(tmp_path / "b.h5", scenario_text="", resolved="", attributes={}) as writer:
        writer.write_sources([{"name": "s", "type": "force", "x": 450.0, "z": 400.0}])
        writer.create_traces(
            "hole", shots=["shot"], codes=list("ABCDEFGH"), positions=down, requested=down,
            time=np.arange(3.0), quantities={"vz": "m/s"},
        )  # fmt: skip
        times = np.arange(3.0)
        folder = writer.create_snapshots(
            "box", shot=None, axes=axes, times=times, fields={"vz": "m/s"}
        )
        for index in range(3):
            ramp = np.linspace(-1.0, 1.0, axes["x"].size)
            writer.write(f"{folder}/vz", index, np.tile(ramp, (axes["z"].size, 1)))
    with open_results(tmp_path / "b.h5") as results:
        figures = [snapshot(results), movie(results, tmp_path / "m.gif")]
        for figure in figures:
            marks = {line.get_marker(): line for line in figure.axes[0].get_lines()}
            depths = [depth for depth in down["z"] if z[0] <= depth <= z[1]]
            np.testing.assert_array_equal(marks["v"].get_ydata(), depths)
            assert ("*" in marks) == (x[0] <= 450 and z[0] <= 400 <= z[1])
            assert_whole(figure)


def test_rounding_is_not_drawn_like_a_signal():
    """A trace that no wave has reached holds 1e-12 of the others; it lies flat."""
    panel = panels(1, 1, 2.0)[1][0, 0]
    quiet = 1e-12 * np.sin(np.arange(50.0))
    _draw_column(panel, np.arange(50.0), np.stack([np.sin(np.arange(50.0)), quiet]), 1e-6, "k")
    heights = [np.ptp(line.get_ydata()) for line in panel.get_lines()]
    assert heights[0] > 0.85
    assert heights[1] < 1e-5


@pytest.mark.parametrize(
    ("kind", "name", "value", "words"),
    [
        ("gather", "clip", 200, "must be less than or equal to 100"),
        ("gather", "clip", "abc", "must be a number$"),
        ("snapshot", "times", "abc", "must be a number; or a list of these$"),
        ("peaks", "quantities", [], "should have at least 1 item"),
        ("spectra", "most", 0, "must be greater than or equal to 1"),
        ("snapshot", "times", [], "should have at least 1 item"),
        ("snapshot", "common_scale", "maybe", "must be true or false$"),
        ("movie", "frames_per_second", 0, "must be greater than 0"),
    ],
)
def test_an_option_that_cannot_be_is_one_line(two, tmp_path, kind, name, value, words):
    with pytest.raises(ScenarioError, match=f"^plot {kind}: option {name}: .*{words}") as caught:
        draw(two, kind, tmp_path / f"x{KINDS[kind].suffix}", **{name: value})
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_peaks_of_accelerations_have_a_prefix_too():
    panel = panels(1, 1, 2.0)[1][0, 0]
    _print_peaks(panel, np.array([[0.0, 2.9e-5]]), "m/s^2")
    assert [text.get_text() for text in panel.texts] == ["29 µm/s²"]


@pytest.mark.parametrize(
    ("script", "options", "output"),
    [
        ("plot_snapshots.py", ["--field", "vx"], "s.png"),
        ("record_section.py", ["--set", "line", "--velocity", "3000"], "r.png"),
        ("spectra.py", ["--set", "stations", "--receivers", "CI.PAS", "CI.LFP"], "f.png"),
        pytest.param("animate.py", [], "a.gif", marks=pytest.mark.slow),
    ],
)
def test_the_example_scripts_run(two, tmp_path, monkeypatch, script, options, output):
    pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    mpl.use("Agg")
    path = tmp_path / output
    monkeypatch.setattr(sys, "argv", [script, str(two.path), *options, "--output", str(path)])
    runpy.run_path(str(SCRIPTS / script), run_name="__main__")
    import matplotlib.pyplot as plt

    plt.close("all")
    with Image.open(path) as image:
        assert min(image.size) >= 400


@pytest.mark.parametrize(
    ("script", "options", "words"),
    [
        ("plot_snapshots.py", ["--field", "q"], "object 'q' doesn't exist"),
        ("record_section.py", ["--set", "lin"], "--set lin: there is line, stations"),
        ("record_section.py", ["--quantity", "q"], "No variable named 'q'"),
        ("spectra.py", ["--set", "lin"], "--set lin: there is line, stations"),
        ("spectra.py", ["--receivers", "q"], "not all values found in index 'receiver'"),
        ("animate.py", ["--field", "q"], "there is no 'q'"),
    ],
)
def test_an_example_script_says_in_one_line_what_is_missing(
    two, capsys, monkeypatch, script, options, words
):
    pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    mpl.use("Agg")
    monkeypatch.setattr(sys, "argv", [script, str(two.path), *options])
    with pytest.raises(SystemExit) as caught:
        runpy.run_path(str(SCRIPTS / script), run_name="__main__")
    said = capsys.readouterr().err if caught.value.code == 2 else str(caught.value.code)
    assert words in said.splitlines()[-1]


def test_gain_raises_late_arrivals_and_leaves_traces_at_rest():
    """Two pulses of 1 and 0.01: AGC makes them alike, t^P weighs them by (t2 / t1)^P."""
    time = 0.01 * np.arange(401)
    pulses = ricker(time - 1.0, 5.0) + 0.01 * ricker(time - 3.0, 5.0)
    samples = np.stack([1e-3 * pulses, np.zeros(401)])
    early, late = slice(50, 151), slice(250, 351)

    def ratio(gain: str) -> float:
        trace, silent = np.abs(with_gain(samples, time, gain))
        assert trace.max() == pytest.approx(1.0)
        assert not silent.any()
        return trace[late].max() / trace[early].max()

    assert ratio("agc:0.4 s") == pytest.approx(1.0, rel=1e-6)
    assert ratio("t:2") == pytest.approx(0.09, rel=0.02)
    assert ratio("t") == pytest.approx(0.03, rel=0.02)
    for wrong in ("loud", "agc:2 Hz", "t:x"):
        with pytest.raises(ScenarioError, match="gain"):
            with_gain(samples, time, wrong)


def test_a_wave_of_the_reduction_velocity_stands_level(two):
    time, distances = 0.01 * np.arange(401), np.array([-500.0, 0.0, 1500.0])
    samples = ricker(time - 0.5 - np.abs(distances[:, None]) / 1000.0, 5.0)
    level = reduced(samples, time, distances, 1000.0)
    recorded = time <= 4.0 + 1e-9 - np.abs(distances[:, None]) / 1000.0
    np.testing.assert_array_equal(np.isnan(level), ~recorded, "nothing is known after the record")
    wanted = np.where(recorded, ricker(time - 0.5, 5.0), np.nan)
    np.testing.assert_allclose(level, wanted, atol=1e-9)
    figure = gather(two, receivers="line", quantities="vz", reduction="2 km/s", gain="agc")
    assert figure.axes[0].get_ylabel() == "time - distance / (2 km/s) (s)"
    assert "gain agc" in figure.get_suptitle()
    with pytest.raises(ScenarioError, match="give a velocity above 0"):
        gather(two, reduction=-1)


@pytest.mark.parametrize("options", [{}, {"normalise": True}, {"gain": "agc"}])
def test_nothing_is_drawn_after_the_end_of_a_record(two, options):
    """Times less distance / (1 km/s): of far traces nothing is left."""
    chosen = {"receivers": "line", "quantities": "vz", "reduction": "1 km/s", **options}
    lines = gather(two, mode="wiggle", **chosen).axes[0].get_lines()
    image = gather(two, mode="image", **chosen).axes[0].collections[0].get_array()
    missing = np.isnan(np.stack([line.get_xdata() for line in lines]))
    assert missing.any(axis=1).sum() >= len(lines) - 1
    assert (np.diff(missing.astype(int), axis=1) >= 0).all(), "only the end is left out"
    assert missing.all(axis=1).any()
    assert not missing.all()
    np.testing.assert_array_equal(np.ma.getmaskarray(image) | np.isnan(image.data), missing.T)


def test_components_along_z_are_said_to_be_positive_down(two):
    assert [axis_label(f"{motion}z") for motion in "uva"] == [
        f"${motion}_{{z}}$ (down)" for motion in "uva"
    ]
    assert axis_label("vz", "m/s") == "$v_{z}$ (down, m/s)"
    assert axis_label("vx", "m/s") == "$v_{x}$ (m/s)"
    assert axis_label("szz", "Pa") == r"$\sigma_{zz}$ (Pa)"
    assert axis_label("delta") == "delta"
    assert "(down, " in spectra(two, quantities="vz").axes[0].get_ylabel()
    assert "(down)" in traces(two, quantities="vz").axes[0].get_title()


def test_a_model_in_two_dimensions_has_no_azimuth_and_constants_have_one_value(tmp_path):
    axes = {"z": np.arange(11) * 10.0, "x": np.arange(21) * 10.0}
    vp = np.full((11, 21), 2000.0)
    vp[5:] = 3000.0
    parameters = {
        "vp": (vp, "m/s"),
        "rho": (np.full((11, 21), 2350.5), "kg/m3"),
        "phi": (np.zeros((11, 21)), "deg"),
    }
    with ResultsWriter(tmp_path / "a.h5", scenario_text="", resolved="", attributes={}) as writer:
        writer.write_model(axes, parameters)
    with open_results(tmp_path / "a.h5") as results:
        figure = model(results)
        asked = model(results, parameters="phi")
    figure.draw_without_rendering()
    assert [p.get_title() for p in figure.axes if p.get_visible()] == [
        "$v_{p}$ (m/s)", r"$\rho$ (kg/m³)"
    ]  # fmt: skip
    bars = [panel.child_axes[0] for panel in figure.axes]
    assert [t.get_text() for t in bars[1].get_yticklabels()] == ["2350.5"]
    assert len(bars[0].get_yticklabels()) > 1
    assert [p.get_title() for p in asked.axes] == ["phi (deg)"]


def test_a_component_that_is_rounding_is_not_blown_up(tmp_path):
    """Vx of 1e-16 m/s beside vz of 1e-3: drawn at rest, normalised or not, as image or wiggles."""
    time, x = 0.01 * np.arange(101), np.arange(6) * 50.0
    places = {"x": x, "z": np.zeros(6)}
    names = {"vx": "m/s", "vz": "m/s"}
    with ResultsWriter(tmp_path / "a.h5", scenario_text="", resolved="", attributes={}) as writer:
        writer.create_traces(
            "line", shots=["shot"], codes=[f"R{k}" for k in range(6)], positions=places,
            requested=places, time=time, quantities=names,
        )  # fmt: skip
        for name, size in (("vx", 1e-16), ("vz", 1e-3)):
            writer.write(f"traces/line/{name}", 0, size * np.tile(ricker(time - 0.5, 5.0), (6, 1)))
    with open_results(tmp_path / "a.h5") as results:
        for normalise in (None, True, False):
            panel = gather(results, normalise=normalise).axes[0]
            swings = [np.ptp(line.get_xdata()) for line in panel.get_lines()]
            assert max(swings) < 1e-6
        image = gather(results, mode="image", colours="grey").axes[0].collections[0]
        values = np.abs(image.get_array()).max()
        assert values < 1e-6 * image.norm.vmax
        assert image.get_cmap().name == "gray_r"


def test_a_beach_ball_is_black_where_the_first_motion_is_away():
    """Strike 0, dip 90, rake 0 moves along Mxy: black to the north-east and south-west.

    A thrust (Mzz against Myy) is black in the middle, where rays go straight down.
    """
    moment = np.zeros((3, 3))
    moment[0, 1] = moment[1, 0] = 1.0
    ball = beach_ball(moment)
    middle = len(ball) // 2
    quarter = len(ball) // 4
    dark = {
        name: not ball[middle + row, middle + column, :3].any()
        for name, row, column in (
            ("ne", -quarter, quarter), ("sw", quarter, -quarter), ("nw", -quarter, -quarter),
            ("se", quarter, quarter),
        )
    }  # fmt: skip
    assert dark == {"ne": True, "sw": True, "nw": False, "se": False}
    assert ball[0, 0, 3] == 0.0, "transparent outside"
    thrust = beach_ball(np.diag([0.0, -1.0, 1.0]))
    assert not thrust[middle, middle, :3].any()
    assert thrust[middle, middle + len(ball) // 3, 0] == 1.0
    # A ray at 45 degrees from straight down stands at sqrt(2) sin(22.5 degrees) = 0.541.
    row = thrust[middle, middle:, 0]
    assert np.flatnonzero(row)[0] / middle == pytest.approx(0.541, abs=2 / middle)


@pytest.mark.parametrize(
    ("width", "length"), [(30.0, 5.0), (8.0, 2.0), (4000.0, 1000.0), (3.9, 0.5)]
)
def test_the_bar_of_scale_is_round(width, length):
    assert round_length(width) == pytest.approx(length)


def test_maps_have_a_scale_names_and_the_units_asked_for(three):
    panel = peaks(three, section="z", quantities="pgv_horizontal").axes[0]
    (bar,) = [line for line in panel.get_lines() if line.get_label() == "_scale"]
    length = np.ptp(bar.get_xdata())
    texts = {text.get_text() for text in panel.texts}
    assert f"{length:g} {panel.get_xlabel()[3:-1]}" in texts
    codes = {traces.codes[0] for traces in three.traces.values() if len(traces.codes) <= 30}
    assert {code.split(".")[-1] for code in codes} <= texts
    image = panel.images[0]
    changed = peaks(
        three, section="z", quantities="pgv_horizontal", units="engineering", scale="log"
    ).axes[0]
    assert "cm/s" in changed.get_title()
    norm, shown = changed.images[0].norm, np.asarray(image.get_array())
    assert norm.vmax / norm.vmin == pytest.approx(max(5.0, shown.max() / np.percentile(shown, 1.0)))
    largest = float(changed.get_title().rsplit(" ", 1)[1])
    assert norm.vmax == pytest.approx(largest, rel=1e-2)
    si = float(np.max(image.get_array()))
    assert largest * 10.0 ** round(np.log10(si / largest)) == pytest.approx(si, rel=1e-2)


def test_meridians_and_parallels_are_where_they_are(three, monkeypatch):
    """X to the east: what is written on an edge is the longitude, or latitude, there."""
    place = {"longitude": -117.7, "latitude": 33.9, "azimuth": 90.0}
    monkeypatch.setattr(Results, "azimuth", 90.0)
    monkeypatch.setattr(Results, "section", lambda self, name: place)
    panel = peaks(three, section="z", quantities="pgv_horizontal").axes[0]
    written = [text for text in panel.texts if "\N{DEGREE SIGN}" in text.get_text()]
    assert written
    scale = 1e-3 if "km" in panel.get_xlabel() else 1.0
    projection = Projection(SimpleNamespace(**place))
    for text in written:
        y, x = text.xy
        longitude, latitude = projection.to_geographic(x / scale, y / scale)
        value = float(text.get_text()[:-2])
        expected = -float(longitude) if text.get_text()[-1] == "W" else float(latitude)
        assert value == pytest.approx(expected, abs=1e-5)


def test_no_empty_snapshot_is_chosen(tmp_path):
    """Of 41 snapshots, waves are seen from the 11th to the 30th."""
    axes = {"z": 10.0 * np.arange(20), "x": 10.0 * np.arange(30)}
    with ResultsWriter(tmp_path / "a.h5", scenario_text="", resolved="", attributes={}) as writer:
        writer.write_model(axes, {"vp": (np.ones((20, 30), "f4"), "m/s")})
        writer.create_snapshots(
            "wf", shot=None, axes=axes, times=0.1 * np.arange(41), fields={"vz": "m/s"}
        )
        for n in range(41):
            frame = np.full((20, 30), 1.0 if 10 <= n < 30 else 1e-3, "f4")
            writer.write("snapshots/wf/vz", n, frame)
    with open_results(tmp_path / "a.h5") as results:
        panels_drawn = [p for p in snapshot(results).axes if p.get_title(loc="left")]
    times = [float(p.get_title(loc="left").split()[2]) for p in panels_drawn]
    assert len(times) == 6
    assert 1.0 <= times[0] <= 1.2
    assert 2.7 <= times[-1] <= 2.9
