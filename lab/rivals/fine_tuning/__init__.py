"""Fine-tuning of a language model on examples, and its features, gradients and predictions as evidence."""
