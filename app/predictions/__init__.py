"""Predictions: the labels of a file of texts, by the classifier of a selection or a name."""
