"""Inner loops in the part of Python that numba compiles; plain Python and numpy without it."""
