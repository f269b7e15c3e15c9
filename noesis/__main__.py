"""`python -m noesis`: the command line."""

from noesis.cli import main

main(prog_name="noesis")
