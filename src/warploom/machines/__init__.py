"""Machines as data: one row for each GPU architecture, boards, occupancy, and one count of the wavefronts of shared memory."""
