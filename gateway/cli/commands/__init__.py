"""The flags and help of every command; the work is in modules of `cli`, loaded when one runs."""
