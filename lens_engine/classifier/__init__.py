"""From the label log-probabilities of prompts to class probabilities: heads, ensembles and the classifier."""
