"""What all commands share: options, limits, streams, report lines, how a command starts and ends."""
