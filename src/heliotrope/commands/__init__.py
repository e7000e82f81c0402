"""The subcommands of `heliotrope`, and what they share."""
