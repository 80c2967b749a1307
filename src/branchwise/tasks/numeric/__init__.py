"""Word problems with a number for an answer: GSM8K, GSM-Hard, SVAMP."""
