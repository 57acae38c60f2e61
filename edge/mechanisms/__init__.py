"""The device halves of mechanisms, a file each."""
