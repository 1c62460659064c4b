"""Results of inversions, images and kernels, as `info` and `plot` see them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class TaskResults:
    """Results that one of these commands writes.

    Attributes:
        noun: what they are, such as "inversion".
        open: opens a file of them.
        figures: returns the functions that draw them, by kind.
    """

    noun: str
    open: Callable[[Path], AbstractContextManager[Any]]
    figures: Callable[[], Mapping[str, Any]]


def task_of(path: Path) -> TaskResults | None:
    """Return which of these results a file holds, None where it is none of them."""
    from seismo.inversion.survey.results_file import attributes_of

    if not path.is_file():
        return None
    noun = str(attributes_of(path).get("format", "")).removeprefix("seismo ")
    return _KINDS[noun]() if noun in _KINDS else None


def _inversions() -> TaskResults:
    from seismo.inversion.full_waveform.history import open_inversion

    def figures() -> Mapping[str, Any]:
        from seismo.inversion.full_waveform.figures import KINDS

        return KINDS

    return TaskResults("inversion", open_inversion, figures)


def _images() -> TaskResults:
    from seismo.inversion.imaging.results import open_image

    def figures() -> Mapping[str, Any]:
        from seismo.inversion.imaging.figures import KINDS_OF_IMAGES

        return KINDS_OF_IMAGES

    return TaskResults("image", open_image, figures)


def _kernels() -> TaskResults:
    from seismo.inversion.imaging.results import open_kernel

    def figures() -> Mapping[str, Any]:
        from seismo.inversion.imaging.figures import KINDS_OF_KERNELS

        return KINDS_OF_KERNELS

    return TaskResults("kernel", open_kernel, figures)


_KINDS: dict[str, Callable[[], TaskResults]] = {
    "inversion": _inversions,
    "image": _images,
    "kernel": _kernels,
}
