"""The laboratory: computes cells, each once, and stores them."""
