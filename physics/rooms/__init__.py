"""Rooms from a file: walls, doors, windows, furniture, heaters, people, and their day."""
