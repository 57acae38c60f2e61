"""The same device under CPython, on a Raspberry Pi or any Linux with a bus."""
