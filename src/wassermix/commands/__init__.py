"""What each command does, free of argument parsing; :mod:`wassermix.cli` puts words to them."""
