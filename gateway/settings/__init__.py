"""The settings of a deployment: its file, its fields, its room."""
