"""`junto doctor`: what could be wrong, group by group, and how to mend it."""
