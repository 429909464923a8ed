"""Servers of models for the tests of `lens_engine.servers`: real HTTP, real sockets."""
