"""Arrays that scenarios from Python hold: of NumPy's, of xarray's with their coordinates.

They are not copied. Of an array the scenario as text keeps its shape, type and SHA-256, by which
scenarios, checkpoints and results are compared; its values have to be given again.

Changes of a scenario in Python: values by the paths of their keys, put into its plain data.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from pydantic import ModelWrapValidatorHandler, PrivateAttr, StringConstraints, model_validator

from seismo.errors import KeyPath, ModelError, ScenarioError
from seismo.scenario.quantities import Field, Integer, Mistake, ScenarioSection
from seismo.scenario.strict_yaml import MAX_DEPTH

_KINDS = "fiu"
_UNEVEN = 0.01  # of the spacing, by which coordinates may be off a regular grid
LENGTHS = {"": 1.0, "m": 1.0, "metre": 1.0, "meter": 1.0, "metres": 1.0, "meters": 1.0,
            "km": 1e3, "kilometre": 1e3, "kilometer": 1e3, "kilometres": 1e3, "kilometers": 1e3,
            "s": 1.0, "seconds": 1.0, "ms": 1e-3}  # fmt: skip
TIMES = ("s", "seconds", "ms")  # of them
_NAMES = {"depth": "z"}  # of axes, besides their own
SPELLINGS = {"m s-1": "m/s", "m.s-1": "m/s", "km s-1": "km/s", "km.s-1": "km/s",
              "kg m-3": "kg/m3", "kg.m-3": "kg/m3", "kg/m^3": "kg/m3", "kg/m**3": "kg/m3",
              "g cm-3": "g/cm3", "g.cm-3": "g/cm3", "g/cm^3": "g/cm3", "g/cm**3": "g/cm3",
              "degree": "deg", "degrees": "deg", "1": "", "dimensionless": ""}  # fmt: skip


class PythonArray(ScenarioSection):
    """An array from Python (of NumPy's or xarray's); as text, its identity.

    The labels of an xarray.DataArray (axes, coordinates, units) are kept with it.
    """

    shape: tuple[Annotated[Integer, Field(ge=1)], ...] = Field(description="numbers of points")
    dtype: str = Field(description="number type")
    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}\z")] = Field(
        description="SHA-256 of its type, shape and values"
    )
    axes: tuple[str, ...] | None = Field(None, description="names of labelled axes")
    origin: tuple[float, ...] | None = Field(
        None, description="first coordinates (m, s) of labelled axes"
    )
    spacing: tuple[float, ...] | None = Field(
        None, description="spacing of the coordinates (m, s) of labelled axes"
    )
    units: str | None = Field(None, description="unit of labelled values")

    _samples: np.ndarray | None = PrivateAttr(None)

    @model_validator(mode="wrap")
    @classmethod
    def _from_python(cls, value: Any, check: ModelWrapValidatorHandler[PythonArray]) -> PythonArray:
        if isinstance(value, PythonArray | Mapping):
            if isinstance(value, Mapping) and "sha256" not in value:
                raise ValueError(
                    "arrays come from Python; here write {type: file, ...} with the path of one"
                )
            return check(value)
        if not hasattr(value, "__array__"):
            raise ValueError(
                "must be an array from Python, such as numpy.array(...), or xarray.DataArray; "
                "here {type: file, ...} reads one from its path"
            )
        samples, labels = _labelled(value)
        if samples.dtype.kind not in _KINDS:
            raise ValueError(f"has type {samples.dtype}; must be real numbers")
        if not 1 <= samples.ndim <= 3 or not samples.size:
            raise ValueError(f"has the shape {list(samples.shape)}; give 1 to 3 axes of points")
        view = samples.view()
        view.flags.writeable = False
        known_by = {"shape": view.shape, "dtype": str(view.dtype), "sha256": _digest(view)}
        section = check(known_by | labels)
        section._samples = view
        return section

    def __eq__(self, other: object) -> bool:
        """Compare the arrays' identities."""
        return isinstance(other, PythonArray) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        """Return a hash of its identity."""
        return hash(tuple(self.__dict__.values()))

    def __str__(self) -> str:
        """Return it for messages."""
        return f"array of shape {list(self.shape)}"

    @property
    def samples(self) -> np.ndarray:
        """Return the values (shape), which nothing may be written to.

        Raises:
            ModelError: they are not here, or were changed since the scenario was made.
        """
        if self._samples is None:
            raise ModelError(
                f"was an {self} from Python, and its values are not kept with the scenario; run it "
                "from Python with that array"
            )
        if _digest(self._samples) != self.sha256:
            raise ModelError(
                f"the {self} was changed since the scenario was made of it; make the scenario "
                "again, or give it a copy"
            )
        return self._samples


def _digest(samples: np.ndarray) -> str:
    """Return the SHA-256 of an array's type, shape and values in C order."""
    digest = hashlib.sha256(f"{samples.dtype} {samples.shape} ".encode())
    slabs = (samples,) if samples.flags.c_contiguous else samples
    for slab in slabs:
        digest.update(np.ascontiguousarray(slab).data)
    return digest.hexdigest()


def _labelled(value: Any) -> tuple[np.ndarray, dict[str, Any]]:
    """Return the values of an array in the machine's byte order, and the facts of its labels.

    Axes of a single point are left out, and axes along which coordinates fall turned round.

    Raises:
        ValueError: coordinates are not regular or missing, or a unit is not known.
    """
    samples = np.asarray(value)
    if samples.dtype.kind in _KINDS:
        samples = samples.astype(samples.dtype.newbyteorder("="), copy=False)
    names = [_NAMES.get(str(name), str(name)) for name in getattr(value, "dims", ())]
    if not names or all(name.startswith("dim_") for name in names):
        return samples, {}
    unit = str(value.attrs.get("units", "")).strip()
    labels: dict[str, Any] = {"units": SPELLINGS.get(unit, unit)} if unit else {}
    ticks = [value.coords.get(name) for name in value.dims]
    kept = [k for k, count in enumerate(samples.shape) if count > 1]
    bare = [names[k] for k in kept if ticks[k] is None]
    if 0 < len(bare) < len(kept):
        raise ValueError(
            f"has no coordinates along {', '.join(bare)}, but along its other axes; give all"
        )
    if not bare:
        regular = [_regular(ticks[k], names[k]) for k in kept]
        falls = {k for k, (_, step) in zip(kept, regular, strict=True) if step < 0.0}
        samples = samples[
            tuple(slice(None, None, -1 if k in falls else 1) for k in range(len(names)))
        ]
        lasts = (
            (samples.shape[k] - 1) * min(step, 0.0)
            for k, (_, step) in zip(kept, regular, strict=True)
        )
        labels["origin"] = [first + last for (first, _), last in zip(regular, lasts, strict=True)]
        labels["spacing"] = [abs(step) for _, step in regular]
    return samples.reshape([samples.shape[k] for k in kept]), labels | {
        "axes": [names[k] for k in kept]
    }


def _regular(tick: Any, name: str) -> tuple[float, float]:
    """Return the first coordinate and the spacing (m or s) of coordinates along an axis."""
    unit = str(tick.attrs.get("units", "")).strip()
    if unit not in LENGTHS:
        raise ValueError(f"its coordinates {name} are in {unit!r}; give m or km (times: s or ms)")
    along = np.asarray(tick, float) * LENGTHS[unit]
    step = float(along[-1] - along[0]) / (along.size - 1)
    off = np.abs(along - (along[0] + step * np.arange(along.size)))
    if not (off <= _UNEVEN * abs(step)).all() or step == 0.0:
        at = int(np.argmax(~(off <= _UNEVEN * abs(step))))
        raise ValueError(
            f"its coordinates {name} are not evenly spaced: {along[at]:g} at index {at}; "
            f"interpolate it to a regular grid, array.interp({name}=...)"
        )
    return float(along[0]), step


_PATH = re.compile(r"[^.\[\]]+(\[[0-9]{1,9}\]|\.[^.\[\]]+)*")
_PART = re.compile(r"\[([0-9]+)\]|([^.\[\]]+)")


def plain(value: Any, depth: int = 0) -> Any:
    """Return a copy of parts, mappings and lists as dicts and lists, without parts' empty keys.

    Numbers of NumPy's become Python's, arrays of no axes too; other arrays are not copied.

    Raises ScenarioError where it is deeper than any scenario, or contains itself; `depth` says how
    deep a value is.
    """
    if depth > MAX_DEPTH:
        raise ScenarioError(f"scenario: nested deeper than {MAX_DEPTH} levels, or contains itself")
    if isinstance(value, PythonArray):
        return value
    if isinstance(value, ScenarioSection):
        value = {
            key: item_value for key, item_value in value.__dict__.items() if item_value is not None
        }
    if isinstance(value, Mapping):
        return {key: plain(item_value, depth + 1) for key, item_value in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, depth + 1) for item in value]
    scalar = isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0)
    return value.item() if scalar else value


def path_of(key: object) -> KeyPath:
    """Return ``("model", 0, "vp")`` for ``model[0].vp``.

    Raises ScenarioError where it is no such path.
    """
    if not isinstance(key, str) or not _PATH.fullmatch(key):
        raise ScenarioError(f"{key!r}: give a path of keys, such as 'sources[0].position.x'")
    return tuple(int(number) if number else word for number, word in _PART.findall(key))


def put(data: Any, path: KeyPath, value: Any) -> Mistake | None:
    """Put a value into plain `data`, below keys made where there are none; None takes a key away.

    Returns the obstacle, if any.
    """
    for depth, key in enumerate(path):
        if problem := _obstacle(data, key):
            return Mistake(path[:depth], problem)
        if depth + 1 < len(path):
            if isinstance(data, dict) and data.get(key) is None:
                data[key] = {}
            data = data[key]
    if value is None and isinstance(data, dict) and path[-1] in data:
        del data[path[-1]]
    else:
        data[path[-1]] = plain(value)
    return None


def _obstacle(data: Any, key: str | int) -> str:
    if isinstance(data, dict) or (isinstance(data, list) and key in range(len(data))):
        return ""
    if isinstance(data, list):
        if isinstance(key, int):
            return f"has no [{key}]: it is a list of {len(data)}; change all of it to add one"
        return f"is a list of {len(data)}: name one of them by its number, from [0], or change all"
    return "is one value as it is written: change it as a whole"
