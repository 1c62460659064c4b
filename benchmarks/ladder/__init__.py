"""What the advice that seismo follows is worth: the same work without and with it.

`rows` lists the advice, where in the product it lives, and who measures it. Each other file is one
way to do without: real code that gives the same answer, and a docstring that says what is wrong
with it. The other side is always the product's own code. `seismo bench --ladder` runs them all.
"""
