"""Mechanisms of the service that a test must miss: `python -m tests.mutants` switches each off and runs its tests.

`mechanisms.py` lists them. A mechanism whose removal no test notices is not tested, whatever the coverage says.
"""
