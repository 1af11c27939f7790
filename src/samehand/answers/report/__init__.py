"""One HTML file about a run: it opens from disk, needs no script and no network, and shows what was found and why."""
