"""Figures from results files: the kinds by name, and the call that draws any into a file."""

from __future__ import annotations

import contextlib
import inspect
import os
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_type_hints

from matplotlib.figure import Figure
from pydantic import ConfigDict, TypeAdapter, ValidationError

from seismo.errors import ScenarioError
from seismo.output.figures.choice import (
    EmptyFigureError,
    UnusedOptionError,
    alternatives,
    shot_name,
    too_short,
)
from seismo.output.figures.earth_model import model
from seismo.output.figures.peak_maps import peaks
from seismo.output.figures.record_sections import gather
from seismo.output.figures.seismograms import spectra, telemetry, traces, wavelets
from seismo.output.figures.style import STYLE
from seismo.output.figures.wavefield import SUFFIXES, movie, snapshot
from seismo.output.run_directory import final_path, refusal
from seismo.output.run_results import RunResults
from seismo.output.store.arrays import choose

__all__ = [
    "KINDS",
    "EmptyFigureError",
    "FigureKind",
    "UnusedOptionError",
    "alternatives",
    "draw",
    "figure_of",
    "gather",
    "model",
    "movie",
    "peaks",
    "picture_name",
    "shared",
    "snapshot",
    "spectra",
    "telemetry",
    "too_short",
    "traces",
]

# Options that select content, not style: part of a picture's name, in this order.
_CHOOSING = (
    "receivers", "series", "maps", "shot", "field", "quantities", "parameters", "section", "times",
    "codes",
)  # fmt: skip
_LONGEST = 100  # letters of them


@dataclass(frozen=True)
class FigureKind:
    """A kind of figure: its name, content, function and usual file type.

    Kinds `on_request` are drawn when they are named only.
    """

    name: str
    summary: str
    function: Callable[..., Figure]
    suffix: str = ".png"
    writes_itself: bool = False
    on_request: bool = False

    @property
    def options(self) -> tuple[str, ...]:
        """The names of the keyword arguments of the function."""
        parameters = inspect.signature(self.function).parameters.values()
        return tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)

    def checked(self, name: str, value: Any) -> Any:
        """Return the value of an option as the function takes it.

        Raises:
            ScenarioError: there is no such option, or it cannot be that.
        """
        hints = get_type_hints(self.function, include_extras=True)
        known = {option: hints[option] for option in self.options}
        hint = choose(known, name, f"options of {self.name}")
        kind = TypeAdapter(hint, config=ConfigDict(coerce_numbers_to_str=True))
        try:
            return kind.validate_python(value)
        except ValidationError as error:
            problems = "; or ".join(dict.fromkeys(problem["msg"] for problem in error.errors()))
            words = re.sub(r", unable to [^;]*", "", problems).replace("Input should", "must")
            words = re.sub(r"'str' instances[^;]*", "a list of these", words.replace("valid ", ""))
            words = words.replace("a boolean", "true or false").lower()
            raise ScenarioError(f"plot {self.name}: option {name}: {value!r}: {words}") from None

    def available(self, results: RunResults) -> bool:
        """Whether the file holds data for this kind, and it is drawn without being named."""
        if self.on_request:
            return False
        if self.name == "model":
            return len(results.model) > 0
        if self.name == "peaks":
            return any(len(maps) for maps in results.maps.values())
        if self.name == "snapshot":
            return any(len(series) for series in results.snapshots.values())
        return any(len(traces) and not too_short(traces) for traces in results.traces.values())


KINDS: dict[str, FigureKind] = {
    kind.name: kind
    for kind in (
        FigureKind("model", "the earth model with sources and receivers", model),
        FigureKind("snapshot", "the wavefield over the model at several times", snapshot),
        FigureKind("peaks", "maps of largest values", peaks),
        FigureKind("gather", "a record section, as an image or as wiggles", gather),
        FigureKind("traces", "seismograms by station and component", traces),
        FigureKind("spectra", "amplitude spectra of traces and source", spectra),
        FigureKind(
            "wavelets",
            "time functions of the sources, and their spectra",
            wavelets,
            on_request=True,
        ),
        FigureKind(
            "telemetry", "speed and state of the device by time", telemetry, on_request=True
        ),
        FigureKind("movie", "the wavefield over the model in motion", movie, ".gif", True, True),
    )
}


def shared(
    names: Sequence[str], options: Mapping[str, Any], kinds: Mapping[str, FigureKind] = KINDS
) -> dict[str, dict[str, Any]]:
    """Return for each kind, a name in `kinds`, the options that it knows.

    Raises:
        ScenarioError: a kind does not exist, none of them knows an option, or it cannot be that.
    """
    named: list[FigureKind] = [choose(kinds, name, "plot") for name in names]
    known = dict.fromkeys(option for kind in named for option in kind.options)
    for name in options:
        choose(known, name, f"options of {', '.join(names)}")
    return {
        kind.name: {k: kind.checked(k, v) for k, v in options.items() if k in kind.options}
        for kind in named
    }


def picture_name(
    results: RunResults, kind: str, options: Mapping[str, Any],
    kinds: Mapping[str, FigureKind] = KINDS,
) -> str:  # fmt: skip
    """Return ``<results>-<kind>``, the selecting options, and the suffix: a file's usual name.

    Raises:
        ScenarioError: there is no such shot.
    """
    selection = {name: options[name] for name in _CHOOSING if options.get(name) is not None}
    if "shot" in selection:
        selection["shot"] = shot_name(results.shots, selection["shot"])
    texts = [
        v if isinstance(v, str | float | int) else "-".join(map(str, v)) for v in selection.values()
    ]
    words = "".join("-" + re.sub(r"[^\w.]+", "-", str(text)).strip("-") for text in texts)
    return f"{results.path.stem}-{kind}{words[:_LONGEST]}{kinds[kind].suffix}"


def figure_of(
    results: RunResults, kind: str, kinds: Mapping[str, FigureKind] = KINDS, **options: Any
) -> Figure:
    """Return a kind of figure, for notebooks and for changes by its caller.

    Args:
        results: the results file.
        kind: a name in `kinds`, except the movie, which writes itself.
        kinds: of figures that the results have.
        options: keyword arguments of the kind's function.

    Raises:
        ScenarioError: the kind or an option does not exist, or the file lacks the data.
    """
    still = {name: each for name, each in kinds.items() if not each.writes_itself}
    if kind in kinds and kind not in still:
        raise ScenarioError(f"plot {kind}: is a file; write it with `seismo plot`")
    figure_kind, options = _chosen(still, kind, options)
    return figure_kind.function(results, **options)


def draw(
    results: RunResults,
    kind: str,
    output_path: str | os.PathLike[str] | None = None,
    kinds: Mapping[str, FigureKind] = KINDS,
    **options: Any,
) -> Path:
    """Draw a kind of figure into a file and return its path.

    Args:
        results: the results file.
        kind: a name in `kinds`.
        output_path: the picture; its suffix chooses the format (default: ``<results>-<kind>`` and
            the selecting options, such as ``-shot_003``, beside the results).
        kinds: of figures that the results have.
        options: keyword arguments of the kind's function.

    Raises:
        ScenarioError: the kind, an option or the file type does not exist, or the file lacks the
            data.
        StorageError: the picture cannot be written.
    """
    figure_kind, options = _chosen(kinds, kind, options)
    default = results.path.with_name(picture_name(results, kind, options, kinds))
    path = final_path(output_path or default)
    _check_suffix(path, figure_kind)
    # The suffix stays last, since it decides the format.
    hidden = path.with_name(f".{path.stem[:80]}.{uuid.uuid4().hex}.partial{path.suffix}")
    try:
        if figure_kind.writes_itself:
            figure_kind.function(results, hidden, **options)
        else:
            figure_kind.function(results, **options).savefig(hidden, dpi=STYLE["savefig.dpi"])
        hidden.replace(path)
    except OSError as error:
        raise refusal(path, error) from error
    finally:
        with contextlib.suppress(OSError):  # a read-only file system says so of what is not there
            hidden.unlink()
    return path


def _chosen(
    kinds: Mapping[str, FigureKind], kind: str, options: Mapping[str, Any]
) -> tuple[FigureKind, dict[str, Any]]:
    """Return a kind and its options as they are meant."""
    figure_kind = choose(kinds, kind, "plot")
    return figure_kind, {name: figure_kind.checked(name, v) for name, v in options.items()}


def _check_suffix(path: Path, kind: FigureKind) -> None:
    known = SUFFIXES if kind.writes_itself else (".png", ".pdf", ".svg", ".eps", ".jpg", ".webp")
    if path.suffix.lower() not in known:
        raise ScenarioError(f"{path}: a {kind.name} figure is a {', '.join(known)} file")
