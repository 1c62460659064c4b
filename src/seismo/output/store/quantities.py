"""Names, symbols and units of the contents of results files, for file, report and figures.

Symbols: u displacement (m), v velocity (m/s), a acceleration (m/s^2), s stress (Pa), p pressure
(Pa), rho density (kg/m^3), vp and vs wave speeds (m/s); x north, y east, z down.
"""

from __future__ import annotations

import re

from seismo.equations.framework.registry import PARAMETERS

_ORDER = (r"vp", r"vs", r"rho", r"p|pressure", r"v[xyz]", r"u[xyz]", r"a[xyz]", r"s[xyz]{2}", r".*")
_MOTIONS = {"u": "displacement", "v": "particle velocity", "a": "acceleration"}
_LONG_NAMES = {parameter.name: parameter.meaning for parameter in PARAMETERS.values()} | {
    "p": "pressure",
    "pressure": "pressure",
    "divergence": "divergence of the particle velocity",
    "strain": "mean strain along the fibre over the gauge length",
    "strain_rate": "rate of the mean strain along the fibre over the gauge length",
    "fibre_distance": "distance along the fibre",
    "vp": "P-wave speed",
    "vs": "S-wave speed",
    "rho": "density",
    "x": "x",
    "y": "y",
    "z": "z, positive down",
    "z_true": "z of the point, positive down",
    "depth": "depth below the ground",
    "elevation": "height of the ground there",
    "station_elevation": "elevation of the station list",
    "site": "name of the site",
    "r_hyp": "distance from the hypocentre",
    "r_rup": "distance from the rupture",
    "r_jb": "horizontal distance from the surface projection of the rupture",
    "ground": "z of the ground, positive down",
    "x_requested": "x requested in the scenario",
    "y_requested": "y requested in the scenario",
    "z_requested": "z requested in the scenario",
    "longitude": "longitude",
    "latitude": "latitude",
    "x_azimuth": "direction of +x there, clockwise from north",
    "time": "time since the start of the run",
    "shot": "shot name",
    "receiver": "receiver code",
    "recording": "1 where the receiver records, 0 where it lies outside the grid",
    "source": "source name",
    "wavelet": "source time function as injected",
    "points_per_second": "point updates per second",
    "bandwidth_share": "share of the copy bandwidth",
    "utilisation": "share of the time in which the device is busy",
    "output_waiting": "bytes queued for writing",
    "output_stalls": "waits for space in the output ring",
}

_PEAK = re.compile(r"(pg[va]|sa)(?:_([a-z]\w*?))?(?:_([0-9][0-9.e+-]*)s)?")
_PEAKS = {
    "pgv": "peak ground velocity",
    "pga": "peak ground acceleration",
    "sa": "spectral acceleration",
}
_DIRECTIONS = {
    "": "",
    "horizontal": "horizontal ",
    "rotd50": "RotD50 of ",
    "rotd100": "RotD100 of ",
}


def rank(name: str) -> int:
    """Return the sort key of a name in listings: the index of the first pattern that matches."""
    return next(k for k, pattern in enumerate(_ORDER) if re.fullmatch(pattern, name, re.DOTALL))


def long_name(name: str) -> str:
    """Return the words for a quantity, field, parameter or coordinate (the name if unknown)."""
    if name in _LONG_NAMES:
        return _LONG_NAMES[name]
    if match := re.fullmatch(r"([uva])([xyz])", name):
        return f"{_MOTIONS[match[1]]}, {match[2]} component"
    if match := re.fullmatch(r"s([xyz])([xyz])", name):
        return f"stress {match[1]}{match[2]}"
    if match := _PEAK.fullmatch(name):
        which = _DIRECTIONS.get(match[2] or "", f"{match[2]} component of ")
        return f"{which}{_PEAKS[match[1]]}" + (f" at {match[3]} s" if match[3] else "")
    if match := re.fullmatch(r"rotation_([xyz])", name):
        return f"rotation rate about {match[1]}"
    if match := re.fullmatch(r"e([xyz])([xyz])(_rate)?", name):
        return f"{'strain rate' if match[3] else 'strain'} {match[1]}{match[2]}"
    return name.replace("_", " ")


def symbol(name: str) -> str:
    """Return the symbol of a quantity as matplotlib mathematics, such as ``$v_z$``."""
    if match := re.fullmatch(r"([uvas])([xyzps]{1,2})", name):
        letter = r"\sigma" if match[1] == "s" else match[1]
        return f"${letter}_{{{match[2]}}}$"
    if match := re.fullmatch(r"rotation_([xyz])", name):
        return rf"$\dot\omega_{match[1]}$"
    if match := re.fullmatch(r"e([xyz]{2})(_rate)?", name):
        letter = r"\dot\varepsilon" if match[2] else r"\varepsilon"
        return f"${letter}_{{{match[1]}}}$"
    if match := _PEAK.fullmatch(name):
        period = f"({match[3]} s)" if match[3] else ""
        which = (match[2] or "").replace("rotd", "RotD")
        return f"{match[1].upper()}{period} {which}".rstrip()
    words = {"p": "pressure", "rho": r"$\rho$", "divergence": r"$\nabla\cdot v$"}
    return words.get(name, name.replace("_", " "))


def axis_label(name: str, unit: str = "") -> str:
    """Return a figure's label of a quantity, with its unit, such as ``$v_z$ (down, m/s)``.

    Components along z are positive down, where seismograms of observatories have up.
    """
    down = "down" if re.fullmatch(r"[uva]z", name) else ""
    remarks = ", ".join(filter(None, (down, unit)))
    return f"{symbol(name)} ({remarks})" if remarks else symbol(name)


def pretty_unit(unit: str) -> str:
    """Return a unit as it is printed in figures, with raised exponents: kg/m³."""
    return re.sub(r"(?<=m|s)\^?([23])\b", lambda m: "²³"[int(m[1]) - 2], unit)


def timing(start: float, centre: float | None) -> str:
    """Format the time of a source (s): the centre of its wavelet if symmetric, or its start."""
    return f"begins at {start:.6g} s" if centre is None else f"centred at {centre:.6g} s"
