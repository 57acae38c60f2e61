"""Where people went, and three ways to tell it: LDPTrace, PivotTrace, disk on points."""
