"""What the tests of faults share: processes that can be killed, and who judges what is left."""
