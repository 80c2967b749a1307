"""Yes/no questions that need several facts: StrategyQA."""
