"""Several ranks in one process, as cards are: the bits of one, in any order that launches may take.

Ranks on CPUs stand for cards (`teamwork`). Sources and receivers stand on cuts, on corners of four
parts, and in the halos beside them. Equality is to the last bit.
"""

from __future__ import annotations

import threading

import numpy as np
import pytest

import crew
import solver
from cut_cases import CUTS, case
from seismo.backends.cpu import CpuBackend
from seismo.errors import ScenarioError
from seismo.ranks import Alone
from seismo.team import Team
from teamwork import TeamBackend


def outcome(document, base, parts, ranks, make=TeamBackend):
    return crew.outcome(document, base, parts, ranks, make)


@pytest.mark.parametrize(("name", "dimensions"), solver.EVERY_EQUATION)
def test_every_cut_gives_the_bits_of_one(name, dimensions, tmp_path):
    document = case(name, dimensions, tmp_path)
    wanted = outcome(document, tmp_path, None, Alone(), CpuBackend)
    assert all(values.any() for values in wanted.values())
    for count, cuts in CUTS[dimensions].items():
        for parts in cuts:
            found = Team(count).run(lambda r, p=parts: outcome(document, tmp_path, p, r))
            different = [key for key in wanted if not np.array_equal(found[key], wanted[key])]
            assert (parts, different) == (parts, [])


class Strangers(TeamBackend):
    """Ranks that do not see one another's memory."""

    peers = False


def test_what_devices_do_not_see_goes_through_the_host(tmp_path):
    document = case("elastic", 2, tmp_path)
    wanted = outcome(document, tmp_path, None, Alone(), CpuBackend)
    found = Team(3).run(lambda r: outcome(document, tmp_path, (3, 1), r, Strangers))
    assert all(np.array_equal(found[key], wanted[key]) for key in wanted)


def test_an_error_of_one_ends_all():
    def work(ranks) -> None:
        if ranks.number == 1:
            raise ScenarioError("the mast broke")
        ranks.share(0)

    with pytest.raises(ScenarioError, match="the mast broke"):
        Team(3).run(work)
    assert threading.active_count() == 1
