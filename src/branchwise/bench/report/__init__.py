"""Reports of a bench: rows and traces of a run folder as one document, with intervals and paired tests. Runs nothing and calls no model."""
