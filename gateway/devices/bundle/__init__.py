"""What a board is given: its modules, pressed and compiled, and what each of them needs."""
