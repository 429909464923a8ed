"""Evaluations: how often the prompt or the classifier of a selection is right on other rows, or asked otherwise."""
