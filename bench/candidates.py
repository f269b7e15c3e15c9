"""How much of the evidence the legs bring at all, from the output of `bench.retrieval --limit 200 --explain-out`.

python -m bench.candidates FILE
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import click
import msgspec

from bench.locomo import CATEGORIES
from bench.tables import markdown

Explained = dict[str, Any]
Hit = dict[str, Any]

NEIGHBOURS_OF = 40
"""Neighbours of so many of the best hits may join the candidates."""


def vector_leg(question: Explained) -> set[str]:
    """The turns that the vector leg brought."""
    return _turns(question["hits"], lambda hit: hit["explanation"]["vector_rank"] is not None)


def keyword_leg(question: Explained) -> set[str]:
    """The turns that the keyword leg brought."""
    return _turns(question["hits"], lambda hit: hit["explanation"]["keyword_rank"] is not None)


def both_legs(question: Explained) -> set[str]:
    """The turns that either leg brought."""
    return vector_leg(question) | keyword_leg(question)


def with_neighbours(question: Explained) -> set[str]:
    """The same, and the turns next to the best ones."""
    best = [hit["dia_id"] for hit in question["hits"][:NEIGHBOURS_OF]]
    return both_legs(question) | {turn for dia_id in best for turn in neighbours(dia_id)}


def first_ten(question: Explained) -> set[str]:
    """The ten best."""
    return {hit["dia_id"] for hit in question["hits"][:10]}


def neighbours(dia_id: str) -> tuple[str, str]:
    """The ids of the turn before and the turn after, whether or not there are such turns."""
    session, number = dia_id.rsplit(":", 1)
    return f"{session}:{int(number) - 1}", f"{session}:{int(number) + 1}"


def share(questions: Sequence[Explained], found: Callable[[Explained], set[str]]) -> float:
    """The mean share of the questions' evidence in what `found` gives, 0 to 1."""
    shares = [len(found(question) & set(question["gold"])) / len(question["gold"]) for question in questions]
    return sum(shares) / len(shares)


def _turns(hits: Iterable[Hit], wanted: Callable[[Hit], bool]) -> set[str]:
    return {hit["dia_id"] for hit in hits if wanted(hit)}


COLUMNS = {
    "first 10": first_ten,
    "vector leg": vector_leg,
    "keyword leg": keyword_leg,
    "both legs": both_legs,
    "and neighbours": with_neighbours,
}


def table(questions: Sequence[Explained]) -> str:
    """The shares in percent, over all questions and per category."""
    groups = {"all": list(questions)}
    for category, name in CATEGORIES.items():
        groups[f"{category} {name}"] = [item for item in questions if item["category"] == category]
    rows = [
        [name, str(len(group)), *(f"{100 * share(group, found):.1f}" for found in COLUMNS.values())]
        for name, group in groups.items()
        if group
    ]
    return markdown(["evidence found, %", "n", *COLUMNS], rows)


@click.command()
@click.argument("file", type=click.File("rb"))
def main(file: Any) -> None:
    """Show where evidence is lost: in the legs or in the order."""
    click.echo(table([msgspec.json.decode(line) for line in file]))


if __name__ == "__main__":
    main()
