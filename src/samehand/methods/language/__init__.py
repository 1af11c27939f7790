"""Text that no person wrote: tokens, n-gram counts, back-off models, relative entropy, generators and the detector."""
