"""How well the capture rules tell what in a message is worth keeping: precision and recall for each memory type.

python -m bench.capture
"""

from __future__ import annotations

import click

from bench.tables import markdown
from tests.text.capture_figures import KINDS, Figures, Labelled, measure, read_labelled

HALVES = ("tuned", "held-out")


def table(labelled: list[Labelled]) -> str:
    """A Markdown table of one half's figures; a second type found in one message counts against precision."""
    figures = measure(labelled)
    rows = [row(kind, figures[kind]) for kind in KINDS]
    return markdown(("type", "messages", "precision", "recall"), rows)


def row(kind: str, figures: Figures) -> tuple[str, str, str, str]:
    """One type's line of the table."""
    messages = figures.right + figures.missed
    return kind, str(messages), f"{figures.precision:.2f}", f"{figures.recall:.2f}"


@click.command()
@click.option("--half", type=click.Choice(HALVES), help="Only this half of the labelled messages.")
def main(half: str | None) -> None:
    """Print the figures of the half that the rules were written with, and of the half they were not."""
    for name in (half,) if half else HALVES:
        click.echo(f"## {name}\n\n{table(read_labelled(name))}\n")


if __name__ == "__main__":
    main()
