"""What answers at which address: the API for programs, the pages for people."""
