"""Answer keys of our own data. Only the bench may import or read them; searches, tasks and prompts never do."""
