//! What may run: rules, modes, and the gate that asks.
