"""What jobs of every kind share: lists, polls, events, cancel, retry, resume, deletion."""
