"""`lens demo`: what `make demo` runs."""


def demo() -> None:
    """Show Lens at work: the whole service on this machine, one real selection over HTTP.

    Takes a few minutes on two processor cores, and leaves nothing running and nothing behind.
    """
    from lens_cli.demo.show import show_demo

    show_demo()
