"""What an experiment is: replications that give rows, and a report that is made of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cqrf.paper.settings import Row, Settings
from cqrf.paper.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEVELS = (0.1, 0.3, 0.5, 0.7, 0.9)


@dataclass(frozen=True)
class Picture:
    """A figure with the name of its files and a caption."""

    name: str
    caption: str
    figure: Figure


@dataclass(frozen=True)
class Verdict:
    """A claim, in our words, and what the numbers say.

    Attributes
    ----------
    claim : str
    supported : bool or None
        None where the numbers cannot tell.
    evidence : str
        The numbers, in a sentence.
    ours : bool
        Whether the claim is ours and not the paper's.
    """

    claim: str
    supported: bool | None
    evidence: str
    ours: bool = False


class Experiment(ABC):
    """An experiment of the registry.

    A subclass names itself and says how one replication runs and what is shown of all of them.
    """

    name: str
    title: str
    section: str

    def replications(self, settings: Settings) -> int:
        """Return the number of replications in a run of this size."""
        return settings.reps

    def missing_data(self, settings: Settings) -> str | None:
        """Say what must be installed or given before this can run; None if nothing."""
        del settings
        return None

    @abstractmethod
    def replicate(self, replication: int, settings: Settings) -> list[Row]:
        """Run one replication; a function of its number and the settings alone."""

    @abstractmethod
    def pictures(self, rows: list[Row], settings: Settings) -> Sequence[Picture]:
        """Draw the figures."""

    @abstractmethod
    def tables(self, rows: list[Row], settings: Settings) -> Sequence[Table]:
        """Compute the tables."""

    @abstractmethod
    def verdicts(self, rows: list[Row], settings: Settings) -> Sequence[Verdict]:
        """Check the claims against the rows."""


EXPERIMENTS: dict[str, Experiment] = {}


def register(experiment: Experiment) -> None:
    """Add an experiment to the registry."""
    EXPERIMENTS[experiment.name] = experiment
