"""The suites that ship. Whatever function lies here and registers itself is a suite."""
