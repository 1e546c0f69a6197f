"""The words around a phrase that tell what it is there for."""
