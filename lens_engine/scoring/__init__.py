"""How a model is asked: label words after prompts, scored."""
