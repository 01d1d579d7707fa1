"""What everyone stands on: errors, atomic files, random streams, labels, a model as a callable."""
