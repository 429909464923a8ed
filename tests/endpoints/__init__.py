"""Servers of models for the tests of `lens_engine.model.servers`: real HTTP, real sockets."""
