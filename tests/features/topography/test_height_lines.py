"""Heights of the ground from texts of x, y, height: rounded, noisy, with gaps, scattered."""

import numpy as np
import pytest

from seismo.errors import ModelError
from seismo.features.topography.height_files import read_height_lines


def written(path, x, y, form="%.12g"):
    """Write lines with heights of x / 100 to a file, and return its path."""
    x, y = np.broadcast_arrays(x, y)
    table = np.stack([x.ravel(), y.ravel(), 0.01 * x.ravel()], axis=1)
    np.savetxt(path, table, fmt=form)
    return path


@pytest.mark.parametrize("noise", [0.0, 1e-9, 0.05, 0.9])
@pytest.mark.parametrize("places", [12, 6])
def test_coordinates_may_have_noise(noise, places, tmp_path):
    """Each line by itself: 186 GiB were asked for."""
    axis = np.arange(0.0, 2001.0, 100.0)
    x, y = np.meshgrid(axis, axis)
    draw = np.random.default_rng(4)
    x, y = (c + noise * draw.uniform(-1.0, 1.0, c.shape) for c in (x, y))
    path = written(tmp_path / "heights.xyz", x, y, f"%.{places}g")
    rows, columns, heights = read_height_lines(path)
    for ticks in (rows, columns):
        assert ticks == pytest.approx(axis, abs=2.0 * noise + 1e-9)
    assert heights == pytest.approx(0.01 * x, abs=1e-3)


@pytest.mark.parametrize(
    ("first", "step", "count", "form"),
    [
        (-118.0, 1.0 / 1200.0, 200, "%.5f"),  # 3 arc seconds
        (7.0, 1.0 / 3600.0, 3601, "%.6f"),
        (500_011.4, 30.87, 100, "%.0f"),
        (-118.0, 1.0 / 1200.0, 1201, "float32"),
        (0.0, 1.0 / 3.0, 1000, "%.2f"),
    ],
)
def test_coordinates_may_be_rounded(first, step, count, form, tmp_path):
    axis = first + step * np.arange(count)
    if form == "float32":
        axis = axis.astype(np.float32).astype(float)
        form = "%.12g"
    path = written(tmp_path / "heights.xyz", axis, axis[:3, None], form)
    rows, columns, heights = read_height_lines(path)
    assert heights.shape == (3, count)
    assert np.isfinite(heights).all()
    assert columns == pytest.approx(axis, abs=0.02 * step)
    assert rows == pytest.approx(axis[:3], abs=0.02 * step)


@pytest.mark.parametrize("noise", [0.0, 1e-9, 0.05])
@pytest.mark.parametrize("places", [12, 6])
def test_a_line_is_one_row(noise, places, tmp_path):
    x = np.arange(0.0, 3001.0, 100.0)
    y = noise * np.random.default_rng(4).uniform(-1.0, 1.0, x.size)
    path = written(tmp_path / "heights.xyz", x, y, f"%.{places}g")
    rows, columns, heights = read_height_lines(path)
    assert rows.size == 1
    assert columns == pytest.approx(x)
    assert heights[0] == pytest.approx(0.01 * x)


def test_lines_may_have_gaps(tmp_path):
    """Two segments, and two that are short and far from one another."""
    segment = np.arange(0.0, 2001.0, 100.0)
    x = np.concatenate([segment, 10_000.0 + segment])
    _, columns, heights = read_height_lines(written(tmp_path / "line.xyz", x, 0.0))
    assert columns == pytest.approx(np.arange(0.0, 12_001.0, 100.0))
    assert np.isfinite(heights[0]).sum() == x.size
    x = np.concatenate([segment[:10], 50_000.0 + segment[:10]]) / 100.0
    _, columns, _ = read_height_lines(written(tmp_path / "line.xyz", x, 0.0))
    assert columns == pytest.approx(np.arange(510.0))


def test_rows_may_be_much_closer_than_columns(tmp_path):
    x = np.arange(0.0, 30_001.0, 1000.0)
    path = written(tmp_path / "heights.xyz", x, np.arange(3.0)[:, None])
    rows, columns, _ = read_height_lines(path)
    assert rows == pytest.approx([0.0, 1.0, 2.0])
    assert columns == pytest.approx(x)


def test_scattered_points_are_refused(tmp_path):
    draw = np.random.default_rng(4)
    x, y = draw.uniform(0.0, 2000.0, (2, 400))
    twice = (np.append(c, c + 1e-7) for c in (x, y))
    for points in ((x, y), twice, np.rint(100.0 * draw.uniform(0.0, 2000.0, (2, 20_000))) / 100.0):
        path = written(tmp_path / "heights.xyz", *points)
        with pytest.raises(ModelError, match=r"regular grid of .*by GMT surface"):
            read_height_lines(path)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("0 0 1\nnan 0 1\n", "x and y must be finite numbers"),
        ("x y z\n0 0 1\n1 0 2\n0 0 3\n", r"xyz:2: another line has another height there"),
    ],
)
def test_what_is_wrong_with_a_line_is_told(lines, message, tmp_path):
    path = tmp_path / "heights.xyz"
    path.write_text(lines)
    with pytest.raises(ModelError, match=message):
        read_height_lines(path)
