"""What a selection found, and what production asks of it or of a name at once. No name is looked up here.

results, selection_endpoints, files, schemas              support examples, prompts for inputs, classifier, exports
classifying, remote, answering, models                    texts asked at once: here, or of the process that holds models
answers, label_suggestions                                results, read and held; which texts to label next
"""
