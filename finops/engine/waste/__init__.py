"""Rules of waste: pure questions over what resources used."""
