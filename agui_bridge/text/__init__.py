"""Other people's texts, of which every character is seen."""
