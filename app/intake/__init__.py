"""What comes in: submissions, read, checked and stored."""
