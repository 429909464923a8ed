"""A language model fine-tuned on examples, and what it then makes of them."""
