"""The scenario: a YAML file, checked once, then plain data in SI.

``load`` and ``parse`` read YAML strictly, ``from_dict`` and ``load`` take its keys from Python too.
All three report every mistake at once with its line, key, value and remedy. The names here are
imported when they are first used: features add their keys to the scenario, and import its parts.
``template`` is the commented scenario that ``seismo new`` writes: small and runnable at once.
"""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING, Any

from seismo.equations.framework.registry import PHYSICS
from seismo.errors import ScenarioError

if TYPE_CHECKING:
    from seismo.scenario.document import (
        Scenario,
        ScenarioInput,
        from_dict,
        json_schema,
        load,
        parse,
    )

__all__ = ["Scenario", "ScenarioInput", "from_dict", "json_schema", "load", "parse", "template"]


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")

_TEMPLATE = """\
# A scenario of seismo: what is simulated. Run it with:  seismo run {name}.yaml
# Numbers are SI (m, s, kg, Hz) unless a unit stands behind them. z points down.
title: "{name}: an explosion below a soft layer"
physics: elastic            # {equations}

grid:
  extent: {{x: 2 km, z: 1 km}}   # give y too for a 3-D run
  spacing: 5 m                 # 9 points in the shortest wavelength
  order: 8                     # order of the spatial differences, even, 2 to 16
  accuracy: 2 %                # error of the traces that is wanted (default 1 %): `seismo check`
                               # says what is expected, and which spacing reaches it

time:
  duration: 0.8 s
  # step: 1 ms                 # left out, it is chosen from the stability limit

boundaries:                    # absorbing (the default), free_surface (top), rigid, periodic
  top: free_surface
  layer: {{points: 12}}          # thickness of the absorbing layers outside the extent

model:                         # parts are applied in order, later ones over earlier ones
  - type: layers
    layers:
      - {{top: 0 m, vp: 1.8 km/s, vs: 1.0 km/s, rho: 2000 kg/m3}}
      - {{top: 300 m, vp: 3.2 km/s, vs: 1.8 km/s, rho: 2.4 g/cm3}}
      # qp: 60, qs: 30 beside vp make a layer attenuate; epsilon: 0.1, delta: 0.05 make it VTI
  - type: block                # a slow inclusion; what is left out (rho) is kept
    x: [1300 m, 1500 m]
    z: [450 m, 600 m]
    vp: 2.2 km/s
    vs: 1.2 km/s

sources:
  - type: explosion            # or pressure, volume_rate, force, moment_tensor
    position: {{x: 600 m, z: 200 m}}
    moment: 1e12 N m
    wavelet: {{type: ricker, frequency: 8 Hz}}

receivers:
  - name: surface
    type: line                 # or points, grid, stations
    start: {{x: 100 m, z: 10 m}}
    end: {{x: 1900 m, z: 10 m}}
    count: 37
    quantities: [velocity]
    # interval: 4 ms           # left out, every time step is recorded
  # - name: cable              # a fibre (DAS): strain rate along it
  #   type: fibre
  #   points: [{{x: 200 m, z: 20 m}}, {{x: 1800 m, z: 20 m}}]
  #   spacing: 10 m            # of channels
  #   gauge_length: 10 m

output:
  # path: {name}.h5            # the default
  snapshots:
    - {{name: wavefield, fields: [vx, vz], interval: 50 ms}}
  # maps:                      # largest values over the run
  #   - {{name: ground, quantities: [pgv, pga_horizontal], plane: {{depth: 0 m}}}}
"""


def template(name: str) -> str:
    """Return a commented small elastic 2-D scenario titled `name`.

    Raises ScenarioError where `name` is not a plain file name.
    """
    if not _NAME.match(name):
        raise ScenarioError(
            f"{name!r} is not a name for a scenario: use letters, digits, '.', '_' and '-', "
            "beginning with a letter or digit, at most 64 long"
        )
    return _TEMPLATE.format(name=name, equations=" | ".join(PHYSICS))


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'seismo.scenario' has no attribute {name!r}")
    value = getattr(importlib.import_module("seismo.scenario.document"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
