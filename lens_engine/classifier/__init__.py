"""From what a model says of a text, or from its words, to class probabilities: heads, candidates, the classifier."""
