"""The wavefield as a movie: every snapshot over the model, one colour scale throughout.

A GIF needs nothing but Pillow, which matplotlib brings along; an MP4 needs ffmpeg.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image
from pydantic import Field

from seismo.errors import ScenarioError, StorageError
from seismo.output.figures.choice import Percentile
from seismo.output.figures.sections.snapshot import Scene, opacity
from seismo.output.figures.style import (
    SOURCE_COLOUR,
    amplitude_label,
    clip_level,
    entitle,
    panels,
    side_bar,
    styled,
)
from seismo.output.run_results import RunResults

SUFFIXES = (".gif", ".mp4")


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
    """Write a movie of one field over the model and return its figure at the last frame.

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
        ScenarioError: the file does not hold what is asked for, or ffmpeg is missing.
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
