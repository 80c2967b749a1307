"""Programs that know the truth about a task. Only the bench, tools/ and tests may import them; searches never do."""
