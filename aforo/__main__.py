"""`python -m aforo`."""

from aforo.main import main

if __name__ == "__main__":
    main()
