"""Work that no request ends: started, watched, written down, stopped."""
