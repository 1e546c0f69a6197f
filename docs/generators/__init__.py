"""What of the documentation is made from the code: `make docs`."""
