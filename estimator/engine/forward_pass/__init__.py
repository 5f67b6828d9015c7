"""One forward pass: what it computes and reads, how fast hardware does that, calibrated kernels."""
