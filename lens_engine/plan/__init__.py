"""Pure arithmetic, known before a run: the rounds of filtering, the rungs of halving, the comparisons."""
