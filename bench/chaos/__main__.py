"""`python -m bench.chaos`."""

from bench.chaos.cli import main

main()
