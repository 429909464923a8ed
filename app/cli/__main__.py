"""`python -m app.cli`, the same as `lens`."""

from app.cli.application import main

if __name__ == "__main__":
    main()
