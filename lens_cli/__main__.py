"""`python -m lens_cli` does the same as `lens`."""

from lens_cli.application import main

if __name__ == "__main__":
    main()
