"""Checks and measures a CUDA device by one command: `make gpu`.

needs.py lists what the machine lacks. Each step of steps.py then runs in a process of its own, because a fault on a
device spoils every later call of the same process. Each step gives a JSON line.
"""
