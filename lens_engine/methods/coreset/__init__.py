"""Coreset methods: demonstrations chosen by what a fine-tuned model makes of the candidates."""
