"""What `check` says of echoes."""

from collections.abc import Iterator

from seismo.features.echoes.section import section_of

from seismo.runs.prediction.lines import Cause, Check, Report, WarningLines
from seismo.solver.discretization import Discretization


def _error(discretization: Discretization) -> float:
    return 0.012


def _strong(discretization: Discretization) -> WarningLines:
    echo = section_of(discretization.scenario)
    if abs(echo.share) > 1.0:
        yield f"echo.share: {echo.share:g}: the echo is stronger than its source"


def _described(discretization: Discretization) -> Iterator[tuple[str, str]]:
    yield "echo", f"{section_of(discretization.scenario).delay:g} s behind each source"


CAUSES = (Cause("echoes of sources", _error, subject="medium", remedy="leave echo out"),)
CHECKS = (Check("moments", _strong),)
REPORTS = (Report("sources", _described),)
