"""What a run says: the shapes of a report, its verdict, and everything that is written from it."""
