"""Stub."""
def errors():
    return []
