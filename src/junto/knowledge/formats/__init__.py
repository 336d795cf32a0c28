"""Files of many formats as text, whatever their bytes are."""
