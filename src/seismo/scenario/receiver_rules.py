"""Rules between the keys of a set of receivers."""

from __future__ import annotations

from seismo.scenario.base import Mistake
from seismo.scenario.draft import Draft
from seismo.scenario.receivers import FibreReceivers
from seismo.scenario.rules import Mistakes


def fibres(draft: Draft) -> Mistakes:
    """Check that each fibre has either its points or a file of them."""
    for index, group in enumerate(draft.receivers or ()):
        if isinstance(group, FibreReceivers) and (group.points is None) == (group.path is None):
            problem = "missing: give the points of the fibre, or path, a file of them"
            if group.path is not None:
                problem = "a fibre has its points here, or in a file: leave points or path out"
            yield Mistake(("receivers", index, "points"), problem)
