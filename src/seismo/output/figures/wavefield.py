"""The wavefield over the model, on a common colour scale: snapshots of several times, and movies.

The model is a light grey ground; the wavefield lies over it in red and blue and is transparent
where nothing moves, so that fronts can be read against the interfaces that made them.

A movie has every snapshot. A GIF needs nothing but Pillow, which matplotlib brings along; an MP4
needs ffmpeg.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from PIL import Image
from pydantic import Field

from seismo.errors import ScenarioError, StorageError
from seismo.output.figures.choice import (
    FigureCount,
    Percentile,
    components,
    refuse_empty,
    shot_words,
    snapshot_series,
    volumes,
)
from seismo.output.figures.earth_model import draw_geometry, hollow_words
from seismo.output.figures.section import (
    CrossSection,
    chosen_section,
    draw_image,
    frame_section,
    on_even_rows,
    source_position,
    thinned_above,
)
from seismo.output.figures.style import (
    DIVERGING,
    GROUND,
    REST,
    SOURCE_COLOUR,
    WIDTH,
    amplitude_label,
    clip_level,
    entitle,
    length_unit,
    outer_labels,
    panels,
    side_bar,
    styled,
)
from seismo.output.run_results import RunResults
from seismo.output.store.array_sets import SnapshotSeries
from seismo.output.store.layout import axis_label

_MOST_READ = 24  # snapshots that are read to find the times with visible waves
_SEEN = 0.15  # of the upper quartile of their sizes
SUFFIXES = (".gif", ".mp4")


@styled
def snapshot(
    results: RunResults,
    *,
    series: str | None = None,
    shot: str | int | None = None,
    field: str | None = None,
    times: float | Annotated[Sequence[float], Field(min_length=1)] | None = None,
    count: FigureCount = 6,
    section: str | None = None,
    clip: Percentile = 99.0,
    common_scale: bool = True,
    coast: bool | None = None,
) -> Figure:
    """Draw a field at several times over the model.

    Args:
        results: the results file.
        series: name of the snapshot series (default: the first).
        shot: name or number of the shot (default: the first).
        field: name of the field (default: the pressure, else vz).
        times: times in s (default: `count`, spread from the first to the last in which there is
            something to see).
        count: number of times.
        section: the axis to cut a 3-D grid across (default y), at the source, or where it says:
            ``z:500``, ``z:1.5 km``.
        clip: percentile of the moving points at which the colours saturate.
        common_scale: the same scale for all times; otherwise each its own.
        coast: whether a map seen from above has coast lines and borders (of Natural Earth, by
            cartopy); by default where these are installed.

    Raises:
        ScenarioError: the file lacks the data.
    """
    scene = Scene(results, series, shot, field, section, coast)
    frames = scene.frames_at(times, count)
    wavefields = [scene.wavefield(index) for index in frames]
    row_count, columns = _layout(len(frames), scene.ratio)
    height = row_count * ((WIDTH - 0.9) / columns * scene.ratio + 0.3) + 1.3
    figure, grid = panels(row_count, columns, float(np.clip(height, 2.5, 10.5)))
    level = clip_level(np.stack(wavefields), clip)
    factor, label = amplitude_label(scene.field, scene.unit, level)
    for panel, index, moving in zip(grid.flat, frames, wavefields, strict=False):
        own_level = level if common_scale else clip_level(moving, clip)
        image = scene.draw(panel, moving, own_level, factor if common_scale else 1 / own_level)
        panel.set_title(scene.time_label(index), loc="left")
    outer_labels(grid, len(frames))
    label = label if common_scale else f"{axis_label(scene.field)}, each time to its own clip"
    figure.colorbar(
        image, ax=grid, label=label, extend="both", location="bottom", shrink=0.5, aspect=40,
        pad=0.02,
    )  # fmt: skip
    entitle(figure, results, *scene.title())
    return figure


class Scene:
    """A field of a series on a section, ready to be drawn at its stored times."""

    def __init__(
        self,
        results: RunResults,
        series: str | None,
        shot: str | int | None,
        field: str | None,
        section: str | None,
        coast: bool | None = None,
    ) -> None:
        """Look up the data to draw."""
        self.results = results
        self.coast = coast
        self.series: SnapshotSeries = snapshot_series(results, series, shot)
        self.field = components(self.series, field)[-1] if field else _default_field(self.series)
        refuse_empty(results, self.series, [self.field])
        self.frames = self.series.stored(self.field)
        self.unit = self.series.unit(self.field)
        self.axes = self.series.axes
        through = source_position(results, self.series.shot)
        others = volumes("series", results.snapshots)
        self.section: CrossSection = chosen_section(
            self.axes, through, section, others, self.series.ground_of_plane
        )
        self.marks: list[Line2D] = []  # last drawn
        self.scale, self.length = length_unit(*self.axes.values())
        self.ratio = self.section.shape_ratio(self.axes)

    def frames_at(self, times: float | Sequence[float] | None, count: int) -> list[int]:
        """Return the snapshots nearest to `times`, or `count` of them spread over the run.

        Raises:
            ScenarioError: a time is more than an interval away from all of them.
        """
        if times is not None:
            return [self._frame_at(t) for t in np.atleast_1d(np.asarray(times, dtype=float))]
        # Evenly spaced between the first and the last in which there is something to see.
        first, last = self._moving(max(count, _MOST_READ))
        selected = np.linspace(first, last, min(count, last - first + 1)).round().astype(int)
        return [self.frames[n] for n in selected]

    def _moving(self, most: int) -> tuple[int, int]:
        """Return the first and the last of the stored snapshots in which waves are seen.

        What a hundredth of the points exceeds has to be a share of its upper quartile over the run.
        The very first has nothing to show. Of many snapshots `most` are read.
        """
        stored = len(self.frames)
        candidates = np.linspace(min(1, stored - 1), stored - 1, min(most, stored)).astype(int)
        fields = (self.wavefield(self.frames[n]) for n in candidates)
        sizes = np.array([np.percentile(np.abs(field), 99.0) for field in fields])
        loud = sizes > REST * sizes.max()
        typical = float(np.percentile(sizes[loud], 75.0)) if loud.any() else 0.0
        seen = candidates[sizes >= _SEEN * typical]
        return int(seen[0]), int(seen[-1])

    def _frame_at(self, requested_time: float) -> int:
        time = self.series.time[self.frames]
        nearest = int(np.abs(time - requested_time).argmin())
        interval = np.diff(time).max(initial=0.0)
        if not np.isclose(requested_time, time[nearest], rtol=1e-3, atol=interval):
            raise ScenarioError(
                f"times: there is no snapshot near {requested_time:.4g} s; "
                f"they are from {time[0]:.4g} to {time[-1]:.4g} s"
            )
        return self.frames[nearest]

    def wavefield(self, index: int) -> np.ndarray:
        """Read a snapshot on the section as (vertical, horizontal)."""
        cut = self.series.values_of(self.field, (index, *self.section.index(self.axes)))
        return np.nan_to_num(self.section.oriented(cut, self.axes))

    def draw(self, panel: Axes, wavefield: np.ndarray, level: float, factor: float) -> AxesImage:
        """Draw model, wavefield and geometry; return the wavefield's image."""
        self._draw_ground(panel)
        image = draw_image(
            panel, self.section, wavefield * factor, self.axes, self.scale, cmap=DIVERGING,
            vmin=-level * factor, vmax=level * factor, interpolation="bilinear", zorder=1,
            alpha=opacity(wavefield, level),
        )  # fmt: skip
        self.marks = draw_geometry(
            panel,
            self.section,
            self.results,
            self.axes,
            self.scale,
            self.series.shot,
            self.coast,
            self.series.plane or None,
        )
        frame_section(panel, self.section, self.axes, self.scale, self.length)
        return image

    def on_image(self, array: np.ndarray) -> np.ndarray:
        """Return values (vertical, horizontal) as the image of `draw` has them."""
        return on_even_rows(self.section, array, self.axes)

    def time_label(self, index: int) -> str:
        """Return the time of a snapshot as words."""
        return f"t = {self.series.time[index]:.4g} s"

    def title(self) -> list[str]:
        """Return the shot and where the grid is cut."""
        planes = self.series.described_plane
        shot = shot_words(self.results, self.series.shot)
        thinned = thinned_above(self.results, self.axes, self.series.name)
        return [shot, self.section.title(), *planes, hollow_words(self.marks), thinned]

    def _draw_ground(self, panel: Axes) -> None:
        if self._ground is not None:
            section, section_values, axes = self._ground
            draw_image(panel, section, section_values, axes, self.scale, cmap=GROUND, zorder=0)

    @cached_property
    def _ground(self) -> tuple[CrossSection, np.ndarray, dict[str, np.ndarray]] | None:
        # Read once: a section of a large compressed volume is costly.
        ground = self.results.model
        axes = ground.axes
        section = self._ground_section(axes)
        name = next((n for n in ("vp", "vs", "rho") if n in ground), None)
        if name is None or section is None:
            return None
        return section, section.oriented(ground.values_of(name, section.index(axes)), axes), axes

    def _ground_section(self, axes: dict[str, np.ndarray]) -> CrossSection | None:
        shown = {self.section.horizontal, self.section.vertical}
        across = [axis for axis in axes if axis not in shown]
        if not shown <= set(axes) or len(across) > 1:
            return None
        if not across:
            return self.section
        position = self.series.plane.get(across[0], self.section.position)
        pair = (self.section.horizontal, self.section.vertical)
        return CrossSection(*pair, across[0], position, self.section.ground)


def opacity(wavefield: np.ndarray, level: float) -> np.ndarray:
    """Return how opaque the wavefield is: rising fast from 0 at rest to 1 at half the clip."""
    return np.clip(2.0 * np.abs(wavefield) / level, 0.0, 1.0) ** 0.7


def _default_field(series: SnapshotSeries) -> str:
    velocities = [name for name in series if name.startswith("v")]
    return velocities[-1] if velocities and "p" not in series else next(iter(series))


def _layout(count: int, ratio: float) -> tuple[int, int]:
    columns = 3 if ratio > 0.6 or count > 6 else 2
    columns = min(count, columns if ratio > 0.25 else 1)
    return -(-count // columns), columns


@styled
def movie(
    results: RunResults,
    path: Path,
    *,
    series: str | None = None,
    shot: str | int | None = None,
    field: str | None = None,
    section: str | None = None,
    clip: Percentile = 99.0,
    frames_per_second: Annotated[float, Field(gt=0, le=100)] = 10.0,
    dpi: Annotated[int, Field(ge=10, le=600)] = 110,
) -> Figure:
    """Write a movie of a field over the model and return its figure at the last frame.

    Args:
        results: the results file.
        path: the movie, ``.gif`` or ``.mp4``.
        series: name of the snapshot series (default: the first).
        shot: name or number of the shot (default: the first).
        field: name of the field (default: the pressure, else vz).
        section: the axis to cut a 3-D grid across (default y), at the source, or where it says:
            ``z:500``, ``z:1.5 km``.
        clip: percentile of the moving points at which the colours saturate.
        frames_per_second: speed.
        dpi: resolution.

    Raises:
        ScenarioError: the file lacks the data, or ffmpeg is missing.
        StorageError: the movie cannot be written.
    """
    write = _encoder(path)
    scene = Scene(results, series, shot, field, section)
    level = _level(scene, clip)
    width = 6.0 if scene.ratio < 1.2 else 4.5
    figure, grid = panels(1, 1, (width - 1.4) * scene.ratio + 1.0, width=width)
    figure.set_dpi(dpi)
    write(_frames(figure, grid[0, 0], scene, level), path, frames_per_second)
    return figure


def _level(scene: Scene, clip: float) -> float:
    # A dozen frames fix the scale: a movie of a large volume is not read twice.
    levels = [clip_level(scene.wavefield(k), clip) for k in scene.frames_at(None, 12)]
    return float(np.median(levels))


def _frames(figure: Figure, panel: Axes, scene: Scene, level: float) -> Iterator[Image.Image]:
    canvas = FigureCanvasAgg(figure)
    factor, label = amplitude_label(scene.field, scene.unit, level)
    first = scene.frames[0]
    image: Any = scene.draw(panel, scene.wavefield(first), level, factor)
    side_bar(panel, image, label=label, extend="both")
    entitle(figure, scene.results, *scene.title())
    title = panel.set_title(scene.time_label(first), loc="left")
    canvas.draw()
    figure.set_layout_engine("none")  # a layout that moves from frame to frame would tremble
    for index in scene.frames:
        wavefield = scene.wavefield(index)
        image.set_array(scene.on_image(wavefield * factor))
        image.set_alpha(scene.on_image(opacity(wavefield, level)))
        title.set_text(scene.time_label(index))
        canvas.draw()
        yield Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")


def _encoder(path: Path) -> Callable[[Iterator[Image.Image], Path, float], None]:
    if path.suffix == ".mp4" and shutil.which("ffmpeg") is None:
        raise ScenarioError(f"{path}: an MP4 needs ffmpeg, which is not installed; use .gif")
    if path.suffix not in SUFFIXES:
        raise ScenarioError(f"{path}: a movie is a {' or '.join(SUFFIXES)} file")
    return _write_mp4 if path.suffix == ".mp4" else _write_gif


def _write_gif(frames: Iterator[Image.Image], path: Path, frames_per_second: float) -> None:
    images = list(frames)
    palette = _palette(images)
    indexed = [i.quantize(palette=palette, dither=Image.Dither.NONE) for i in images]
    indexed[0].save(
        path, format="GIF", save_all=True, append_images=indexed[1:], loop=0, optimize=False,
        duration=round(1000 / frames_per_second),
    )  # fmt: skip


def _palette(images: list[Image.Image]) -> Image.Image:
    # One palette for all frames, since separate ones flicker. The source is a few pixels that
    # the choice of colours would sacrifice: a strip of its colour makes it count.
    samples = [images[k] for k in sorted({0, len(images) // 3, 2 * len(images) // 3})]
    width, height = images[0].size
    sample = Image.new("RGB", (width, height * len(samples) + height // 4), SOURCE_COLOUR)
    for row, image in enumerate(samples):
        sample.paste(image, (0, row * height))
    return sample.quantize(colors=255, method=Image.Quantize.MEDIANCUT)


def _write_mp4(frames: Iterator[Image.Image], path: Path, frames_per_second: float) -> None:
    first = next(frames)
    # H.264 wants an even number of pixels each way.
    size = (first.width // 2 * 2, first.height // 2 * 2)
    command = [
        "ffmpeg", "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24",
        "-s", f"{size[0]}x{size[1]}", "-r", str(frames_per_second), "-i", "-",
        "-pix_fmt", "yuv420p", "-f", "mp4", str(path),
    ]  # fmt: skip
    pixels = b"".join(f.crop((0, 0, *size)).tobytes() for f in [first, *frames])
    done = subprocess.run(command, input=pixels, capture_output=True, check=False)
    if done.returncode != 0:
        reason = " ".join(done.stderr.decode("utf-8", "replace").split())
        raise StorageError(f"{path}: ffmpeg failed: {reason}")
