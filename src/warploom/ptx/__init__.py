"""PTX: syntax, SIMT interpreter, symbolic emulator, shuffle synthesis."""
