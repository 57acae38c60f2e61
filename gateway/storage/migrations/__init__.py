"""Every schema that a store has had, and how one becomes the next."""
