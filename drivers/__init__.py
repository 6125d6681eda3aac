"""What is tested: the driver under test, its installation, and the fake driver with its planted faults."""
