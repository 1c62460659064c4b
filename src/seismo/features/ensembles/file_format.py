"""The format of files of ensembles, for commands that take results of any kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seismo.features.ensembles.collection import FORMAT
from seismo.features.ensembles.results import open_ensemble
from seismo.output.run_results import FeatureResults

_REMEDY = (
    "holds an ensemble of runs: seismo.open_ensemble reads it, seismo info and plot take it, and "
    "xarray opens its groups; for the results of a member: seismo run SCENARIO --member N"
)


def _figures() -> Mapping[str, Any]:
    from seismo.features.ensembles.figures import KINDS

    return KINDS


ENSEMBLES = FeatureResults(FORMAT, _REMEDY, open_ensemble, _figures)
