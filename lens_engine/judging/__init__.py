"""How good a permutation is: judgements, their scores, and the outcome of a race or a halving."""
