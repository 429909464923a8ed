"""What production reads of a selection or a prompt: support examples, prompts for new inputs, classifier, exports."""
