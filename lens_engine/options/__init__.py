"""The names of the options, and what is wrong with the options that were given."""
