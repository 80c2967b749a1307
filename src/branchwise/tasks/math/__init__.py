"""Competition mathematics: a thought is a whole answer, which is read without being evaluated."""
