//! The face without a screen: one prompt in, text or JSON out.
