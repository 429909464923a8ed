"""Everything worth knowing about a CUDA card, from one command of eight minutes: `make gpu`.

needs.py (what the machine lacks) -> plan.py (the steps) -> runner.py (a process and a deadline for each step)
-> a JSON line for each step -> summary.py (targets beside what was measured).
"""
