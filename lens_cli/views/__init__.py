"""How results, costs and progress look on a terminal."""
