"""The key holder's view: exact readings, in a process and a store of their own, NOT PRIVATE.

Nothing in here is known to the service. `source` reads the gateway's database and cannot
write it, `opening` takes the noise off, `readings` keeps what comes out.
"""
