"""Members of an ensemble: scenarios of single runs, with their drawn values typed in."""

from __future__ import annotations

from seismo.errors import ScenarioError
from seismo.features.ensembles.draws import Draws, draws_of
from seismo.features.ensembles.section import section_of
from seismo.scenario import Scenario


class Members:
    """The members of a scenario with an ensemble.

    Attributes:
        scenario: of the ensemble.
        draws: values of all members.
    """

    def __init__(self, scenario: Scenario) -> None:
        """Draw the values.

        Raises:
            ScenarioError: there are none.
        """
        self.scenario = scenario
        self.draws: Draws = draws_of(scenario)

    def __len__(self) -> int:
        """Count the members."""
        return section_of(self.scenario).members

    def __getitem__(self, member: int) -> Scenario:
        """Return the scenario of a member, checked as a file with its values would be.

        Raises:
            ScenarioError: there is no such member, or a value of it will not do.
        """
        if not 0 <= member < len(self):
            raise no_member(member, len(self))
        try:
            return self.scenario.changed({**self.draws.changes(member), "ensemble": None})
        except ScenarioError as error:
            raise self.refused(member, error) from None

    def refuse_unsound(self) -> None:
        """Check all members.

        Raises:
            ScenarioError: of the first member whose values will not do.
        """
        for member in range(len(self)):
            self[member]

    def refused(self, member: int, error: ScenarioError) -> ScenarioError:
        """Name the drawn key that a mistake is about, its value, and its place in the scenario."""
        message = error.messages[0]
        path = getattr(message, "key", ())
        for key, origin in zip(self.draws.keys, self.draws.origins, strict=True):
            if path == key.path:
                remedy = "narrow its distribution with lowest and highest"
                if origin[-1] == "path":
                    remedy = "correct the file"
                return self.scenario.mistake(
                    *origin, problem=f"member {member} draws {message}; {remedy}"
                )
        problem = f"member {member} ({self.draws.described(member)}): {message}"
        return self.scenario.mistake("ensemble", problem=problem)


def no_member(member: int, count: int) -> ScenarioError:
    """Return the error of a member that an ensemble of so many does not have."""
    return ScenarioError(f"member {member}: the {count} members are numbered 0 to {count - 1}")
