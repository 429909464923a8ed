"""`python -m lens_cli`, the same as `lens`."""

from lens_cli.application import main

if __name__ == "__main__":
    main()
