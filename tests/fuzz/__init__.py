"""Calls of everything public with good, bad and extreme arguments: `make fuzz COUNT=n SEED=k`.

`draw` makes arguments and knows which of them must be refused, `judge` makes the calls and says
what was wrong with them, `targets` are what is called and how results are checked, `work` runs
them in processes of their own, since a crash ends a process.
"""
