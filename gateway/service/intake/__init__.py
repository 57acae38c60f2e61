"""From a message off the wire to a row on the disk, or a reason."""
