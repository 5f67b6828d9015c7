"""How weights are stored: codings by name, quantised checkpoints and what their configs say, mixes of GGUF files."""
