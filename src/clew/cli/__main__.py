"""`python -m clew.cli` is `clew`."""

from clew.cli import main

main()
