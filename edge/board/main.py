"""Second on a board, after boot.py: a template. Copy it to /main.py, and the device runs."""

if __name__ == "__main__":
    from edge.board import firmware

    firmware.go()
