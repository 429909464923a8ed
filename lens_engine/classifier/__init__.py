"""From what a model says of a text, or from its words, to class probabilities. It knows no run and no result.

bag_of_words, regression   counting words, with a regression of our own that is exact to the bit
heads, fitting             heads over label log-probabilities and hidden states, fitted and cross-validated
candidates, quality        which classifiers are tried, and how good one is
classifier                 the classifier, and its file
"""
