"""The section `echo` of a scenario."""

from typing import TYPE_CHECKING

from seismo.scenario.draft import Draft, Mistakes
from seismo.scenario.quantities import (
    AddedKey,
    Field,
    Mistake,
    ScenarioSection,
    Time,
)

if TYPE_CHECKING:
    from seismo.scenario import Scenario


class Echo(ScenarioSection):
    """What follows each source."""

    delay: Time = Field(description="of the echo behind the source")
    share: float = Field(0.5, description="of the source's strength")


KEY = AddedKey(
    "echo", "sources", Echo | None, Field(None, description="sources that act once more")
)


def section_of(scenario: "Scenario") -> Echo:
    """Return the section of a scenario that has echoes."""
    section: Echo = scenario.section("echo")
    return section


def within_the_run(draft: Draft) -> Mistakes:
    """Refuse an echo that comes when the run has ended."""
    echo = draft.others.get("echo")
    if echo is not None and draft.time is not None and echo.delay >= draft.time.duration:
        problem = "comes after the end of the run: shorten it, or raise time.duration"
        yield Mistake(("echo", "delay"), problem)


RULES = {"geometry": (within_the_run,)}
