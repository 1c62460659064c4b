"""Features of seismo, a folder each."""
