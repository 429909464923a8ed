"""Judging of permutations: judgements, their scores, and the outcomes of a halving."""
