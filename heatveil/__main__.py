"""The command `heatveil`."""

from gateway.cli import main as main

if __name__ == "__main__":
    main()
