"""Second on a board, after boot.py: a template. Copy it to /main.py, and the device runs."""

if __name__ == "__main__":
    from edge import loading

    loading.load()  # from the bottom up, which takes a smaller heap
    from edge.board import start

    start.run()
