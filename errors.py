"""The one exception for everything that a user can cause and can mend."""


class CrystalError(Exception):
    """A sentence for the user: what is wrong, where, and what to do about it."""
