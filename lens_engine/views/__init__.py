"""How results, costs and predictions look: tables as text and HTML, and words for figures."""
