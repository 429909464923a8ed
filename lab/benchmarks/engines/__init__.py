"""Engines that score every prefix with every query, from token ids and with the same weights.

ours: packed, cached, plain. Others: lm-evaluation-harness, and the scheme of the paper's authors.
"""
