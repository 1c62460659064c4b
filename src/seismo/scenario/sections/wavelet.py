"""Source time functions of a scenario (formulas: `seismo.acquisition.wavelets`)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Tag, model_validator

from seismo.scenario.python_data import PythonArray
from seismo.scenario.quantities import (
    Corners,
    Factor,
    Field,
    FilePath,
    Frequency,
    Integer,
    PositiveTime,
    ScenarioSection,
    Time,
    by_type,
)

_LEAST_CYCLES = 2  # of a sweep
_MOST_CYCLES = 20_000  # of a sweep


class _Shape(ScenarioSection):
    amplitude: Factor = Field(1.0, description="factor on the whole wavelet")


class _Pulse(_Shape):
    delay: Time | None = Field(
        None,
        description="time of the wavelet's centre; default: the earliest with a start near zero",
    )


class RickerWavelet(_Pulse):
    """Second derivative of a Gaussian, negated: the Ricker wavelet, peak 1."""

    type: Literal["ricker"]
    frequency: Frequency = Field(description="frequency of the spectral peak")


class GaussianWavelet(_Pulse):
    """A Gaussian, peak 1."""

    type: Literal["gaussian"]
    frequency: Frequency = Field(description="frequency of the Ricker wavelet of the same width")


class GaussianDerivativeWavelet(_Pulse):
    """First derivative of a Gaussian, peak 1."""

    type: Literal["gaussian_derivative"]
    frequency: Frequency = Field(description="frequency of the Ricker wavelet of the same width")


class RickerDerivativeWavelet(_Pulse):
    """First derivative of a Ricker wavelet, peak 1."""

    type: Literal["ricker_derivative"]
    frequency: Frequency = Field(description="frequency of that Ricker wavelet")


class OrmsbyWavelet(_Pulse):
    """Zero-phase band-pass wavelet with a trapezoidal spectrum, peak 1."""

    type: Literal["ormsby"]
    corners: Corners = Field(description="the four corner frequencies, increasing")


class KuepperWavelet(_Shape):
    """The wavelet of Kuepper (1958) with n extrema; it lasts exactly `duration`."""

    type: Literal["kuepper"]
    duration: PositiveTime = Field(description="length of the wavelet")
    n: Annotated[Integer, Field(ge=1, le=20)] = Field(2, description="number of extrema")
    delay: Time = Field(0.0, description="time of the wavelet's beginning")


class _Vibration(_Shape):
    frequencies: tuple[Frequency, Frequency] = Field(
        description="at the beginning and at the end of the sweep"
    )
    duration: PositiveTime = Field(description="length of the sweep")
    taper: PositiveTime | None = Field(
        None, description="time within which it rises and falls; default: duration / 20"
    )

    @property
    def taper_length(self) -> float:
        """Return the length of a taper in s."""
        return self.duration / 20.0 if self.taper is None else self.taper

    @model_validator(mode="after")
    def _sweeps(self) -> _Vibration:
        if self.frequencies[0] == self.frequencies[1]:
            raise ValueError("frequencies: both are the same; give the first and the last one")
        if self.taper_length > 0.5 * self.duration:
            raise ValueError(
                f"taper: {self.taper_length:g} s at both ends is longer than the sweep "
                f"({self.duration:g} s); give half of that at most"
            )
        cycles = max(self.frequencies) * self.duration
        if not _LEAST_CYCLES <= cycles <= _MOST_CYCLES:
            raise ValueError(
                f"duration: {self.duration:g} s are {cycles:.3g} periods of "
                f"{max(self.frequencies):g} Hz; a sweep has {_LEAST_CYCLES} to {_MOST_CYCLES}"
            )
        return self


class SweepWavelet(_Vibration):
    """Linear sweep of a vibrator, amplitude 1; it lasts exactly `duration`."""

    type: Literal["sweep"]
    delay: Time = Field(0.0, description="time of the sweep's beginning")


class KlauderWavelet(_Vibration):
    """The autocorrelation of that sweep, peak 1: what correlated records show of an impulse."""

    type: Literal["klauder"]
    delay: Time | None = Field(
        None,
        description="time of the wavelet's centre; default: the earliest with a start near zero",
    )


class GaussianRateWavelet(_Pulse):
    """Gaussian moment rate, unit area; smooth, so without energy above the grid's cut-off."""

    type: Literal["gaussian_rate"]
    half_duration: PositiveTime | None = Field(
        None, description="half duration of the equivalent triangle of catalogues; or `sigma`"
    )
    sigma: PositiveTime | None = Field(
        None, description="standard deviation, half_duration / (1.628 sqrt 2)"
    )

    @model_validator(mode="after")
    def _one_width(self) -> GaussianRateWavelet:
        if (self.half_duration is None) == (self.sigma is None):
            raise ValueError("give exactly one of 'half_duration' and 'sigma'")
        return self


class BruneWavelet(_Shape):
    """Moment rate of Brune (1970), unit area."""

    type: Literal["brune"]
    corner_frequency: Frequency | None = Field(None, description="corner frequency; or give `rise`")
    rise: PositiveTime | None = Field(
        None, description="time from the beginning to the peak, 1 / (2 pi corner frequency)"
    )
    delay: Time = Field(0.0, description="time of the beginning")

    @model_validator(mode="after")
    def _one_width(self) -> BruneWavelet:
        if (self.corner_frequency is None) == (self.rise is None):
            raise ValueError("give exactly one of 'corner_frequency' and 'rise'")
        return self


class TriangleWavelet(_Shape):
    """Isosceles triangle as moment rate, unit area."""

    type: Literal["triangle"]
    rise: PositiveTime | None = Field(
        None, description="time from the beginning to the peak; or `half_duration`"
    )
    half_duration: PositiveTime | None = Field(
        None, description="the same, by the catalogues' name"
    )
    delay: Time = Field(0.0, description="time of the beginning")

    @model_validator(mode="after")
    def _one_width(self) -> TriangleWavelet:
        if (self.rise is None) == (self.half_duration is None):
            raise ValueError("give exactly one of 'rise' and 'half_duration'")
        return self


class SmoothedRampWavelet(_Shape):
    """Moment rate (unit area) of a moment that rises smoothly from 0 to 1 within `rise`."""

    type: Literal["smoothed_ramp"]
    rise: PositiveTime = Field(description="rise time of the moment")
    delay: Time = Field(0.0, description="time of the beginning")


class FileWavelet(_Shape):
    """Samples from a file: a column of values at `interval`, or columns of time and value."""

    type: Literal["file"]
    path: FilePath = Field(description="the file, relative to the scenario's folder")
    interval: PositiveTime | None = Field(
        None, description="sampling interval, for a file without times"
    )
    delay: Time = Field(0.0, description="time added to the file's")


class ArrayWavelet(_Shape):
    """Samples from Python: a NumPy array and its interval, or an xarray.DataArray with times."""

    type: Literal["array"]
    samples: PythonArray = Field(description="the samples, along one axis")
    interval: PositiveTime | None = Field(
        None, description="sampling interval, for samples without times"
    )
    delay: Time = Field(0.0, description="time added to the samples'")

    @model_validator(mode="after")
    def _one_interval(self) -> ArrayWavelet:
        if len(self.samples.shape) != 1 or self.samples.shape[0] < 2:
            raise ValueError(f"samples: {self.samples}; give one axis of 2 or more samples")
        if (self.interval is None) == (self.samples.spacing is None):
            raise ValueError(
                "interval: missing; the samples have no times"
                if self.interval is None
                else "interval: the samples have times; leave it out"
            )
        return self


Wavelet = Annotated[
    Annotated[RickerWavelet, Tag("|ricker")]
    | Annotated[GaussianWavelet, Tag("|gaussian")]
    | Annotated[GaussianDerivativeWavelet, Tag("|gaussian_derivative")]
    | Annotated[RickerDerivativeWavelet, Tag("|ricker_derivative")]
    | Annotated[OrmsbyWavelet, Tag("|ormsby")]
    | Annotated[KuepperWavelet, Tag("|kuepper")]
    | Annotated[SweepWavelet, Tag("|sweep")]
    | Annotated[KlauderWavelet, Tag("|klauder")]
    | Annotated[GaussianRateWavelet, Tag("|gaussian_rate")]
    | Annotated[BruneWavelet, Tag("|brune")]
    | Annotated[TriangleWavelet, Tag("|triangle")]
    | Annotated[SmoothedRampWavelet, Tag("|smoothed_ramp")]
    | Annotated[FileWavelet, Tag("|file")]
    | Annotated[ArrayWavelet, Tag("|array")],
    by_type(),
]
