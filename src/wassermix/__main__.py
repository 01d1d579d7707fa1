"""``python -m wassermix`` is the command line."""

from wassermix.cli.app import main

main()
