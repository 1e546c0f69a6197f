"""What is written from the code: the files in schemas/, and the table of limits."""
