"""Devices: who may report, what a board is given, fleets on this machine, the owner's tools."""
