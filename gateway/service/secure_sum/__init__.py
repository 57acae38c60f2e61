"""The gateway's half of a secure sum: it learns the sum of a shard's numbers and nothing else.

`edge.mechanisms.secure_sum` says what both halves agree on. `gathering` serves a round's sums,
`collecting` asks one shard step by step, `opening` puts shares together, `ciphers` is what
`edge.mechanisms.crypto` is on boards. Who is in a shard, and beside whom, the owner decides:
`gateway.devices.enrol.roster`.
"""
