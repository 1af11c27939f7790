"""The review server: a run in the browser, to look at and to label, on this machine alone."""
