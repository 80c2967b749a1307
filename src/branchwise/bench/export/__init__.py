"""Training data from traces: the model's own texts, labelled by the truth about them. The key decides what is right; its text is never written."""
