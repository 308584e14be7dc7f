"""Global loads replaced by warp shuffles: detection, guards, code, profit."""
