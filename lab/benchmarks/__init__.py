"""How fast and how exact scoring is, and how fast the service answers at once.

workloads.py  what is scored: prefixes, queries, label words; texts.py writes them, models.py scores them
engines.py    ways to score: Lens, the scheme of the paper's authors; harness.py has that of lm-evaluation-harness
measuring.py  seconds, memory and differences of numbers; compare.py puts engines side by side
answers.py    answers of a running service
"""
