"""Coreset methods: they choose demonstrations by features, gradients or predictions of a fine-tuned model."""
