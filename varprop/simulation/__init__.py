"""The parts of a simulation: draws, statistics that stream, estimates, and what is handed out."""
