"""One line of the table: two figures, their ratio, and what it should be."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """A benchmark is no test, so a ratio beyond its limit is only marked."""

    name: str
    bare: float
    ours: float
    at_most: float | None = None
    at_least: float | None = None

    HEAD = f"{'':36}{'bare':>10}{'Junto':>10}{'ratio':>8}{'limit':>10}"

    @property
    def ratio(self) -> float:
        return self.ours / self.bare

    def line(self) -> str:
        limit = f"<= {self.at_most:.2f}" if self.at_most else f">= {self.at_least:.2f}"
        over = self.at_most is not None and self.ratio > self.at_most
        under = self.at_least is not None and self.ratio < self.at_least
        mark = "  beyond" if over or under else ""
        return f"{self.name:36}{self.bare:10.2f}{self.ours:10.2f}{self.ratio:8.2f}{limit:>10}{mark}"
