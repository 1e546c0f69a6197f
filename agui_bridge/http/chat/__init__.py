"""The chat API: frames of text and questions for clients that know no AG-UI."""
