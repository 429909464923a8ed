"""Checks a CUDA device by one command: `make gpu`.

Each step of steps.py runs in a process of its own, because a fault on a device spoils every later call of the same
process. Each step gives a JSON line.
"""
