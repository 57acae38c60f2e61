"""What a store holds, for people: looked at, written out, sent, replayed, deleted."""
