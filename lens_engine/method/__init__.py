"""LENS (Li & Qiu 2023), in the order of the paper, and what ranks permutations. No file, server or result comes in.

infoscore     how much one example helps the others as the only demonstration: the InfoScore (equations 2 and 3)
filtering     progressive example filtering: the candidates with the highest InfoScores stay (section 3.1)
diversity     sets that differ from each other begin the search
beam          diversity-guided example search: one example is exchanged at a time (section 3.2)
lens          the steps above as one method that can be resumed
permutations  random demonstrations, label-balanced: the start of the search, and its rivals
objective     what a permutation is ranked by: accuracy or macro-F1, for the use; label biases
judgement     what the model said about each row under one prompt
ranker        which of some permutations is best, with rows saved
setup         what a method is made with
"""
