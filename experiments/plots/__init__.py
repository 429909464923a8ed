"""Pictures of accuracies."""
