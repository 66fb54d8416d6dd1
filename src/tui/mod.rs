//! The screen: a pure update and view over plain data, and the loop that feeds them.
