"""From a task and demonstrations to a prompt. No model is asked here, and no file of rows is read.

template, verbalizer, language, wording   the task: how a text is asked, with which label words, and in words for people
examples, text_checks                     texts: checked, told apart by their terms
chat, request, record                     a prompt as turns, as a request, and as what a result stores
pool, index, embedder, labelling          rows like an input, by words or by embeddings; which texts to label next
"""
