"""Servers of models for the tests of `lens_engine.scoring.endpoints`: real HTTP, real sockets."""
