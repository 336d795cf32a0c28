"""The commands and their options; what each does is imported when it is called."""
