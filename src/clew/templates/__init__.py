"""What `clew new` writes, with TEMPLATE_NAME and the like in the place of names."""
