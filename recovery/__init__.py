"""From a question to whole-number noise, and from blurred readings to a map and how good it is.

Begin here: `recovery.thermal` (plan and recover), `recovery.estimators.table` (every way to a
map by its name), `recovery.sparse` (the least heat: `minimise_l1`,
`prepare`), `recovery.distance` (how far maps are apart), `recovery.proofs` and
`recovery.bayes.yardstick` (what can be proved about one), `recovery.noise.calibrate` (from
epsilon and delta to noise).
"""
