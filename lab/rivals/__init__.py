"""Coreset methods, rivals of the paper's table: the model is fine-tuned on the candidates, and they choose by it."""
