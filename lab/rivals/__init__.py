"""Rivals of LENS in the table: coreset methods, which fine-tune the model on the candidates."""
