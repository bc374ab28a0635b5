"""What a run leaves: a table on the terminal as it goes, and at the end JSON, Markdown and plots."""
