"""Whether people agree with the matcher: pairs of steps to label, and what labels say of it."""
