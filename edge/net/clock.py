"""What is known of the time of day: whether it was set, and by whom.

TLS asks for it, because a certificate has dates; nothing else may. Budget, ticks and answers
go by `compat.Uptime`, which nobody on the network can set.
"""


class Clock:
    """Unset until somebody who knows says otherwise. Who sets the board's clock tells this one."""

    def __init__(self):
        self.by = None  # "ntp", "gateway", "rtc", ...

    @property
    def known(self):
        """Say whether a certificate's dates can be judged."""
        return self.by is not None

    def was_set(self, by):
        """Remember who set the time of day last."""
        self.by = by

    def was_lost(self):
        """The power was gone, so the board begins at its own year zero again."""
        self.by = None
