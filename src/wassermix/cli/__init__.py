"""What each command does, free of argument parsing; :mod:`wassermix.cli.app` puts words to them."""
