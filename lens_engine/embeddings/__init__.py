"""Sentence embeddings: a vector of a text, by a small encoder of its own."""
