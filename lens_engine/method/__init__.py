"""Ways to choose demonstrations: the contract, LENS, random search."""
