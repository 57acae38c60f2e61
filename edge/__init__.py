"""The device: one source for MicroPython and CPython, whole numbers only on the privacy path."""
