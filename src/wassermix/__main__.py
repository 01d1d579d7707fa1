"""``python -m wassermix`` is the command line."""

from wassermix.cli import main

main()
