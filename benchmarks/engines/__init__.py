"""Ways to score every prefix with every query; all on the same weights, and all from token ids.

ours: packed, cached, plain. Others: lm-evaluation-harness, and the scheme of the paper's authors.
"""
