"""The papers' experiments and ours, on real corpora. Each module prints one table and fails below its floors."""
