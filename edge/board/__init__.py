"""What touches pins, radios and sleep: the only files of edge that know a board."""
