//! Layered configuration: where each value comes from, the environment, the model catalogue.

pub mod models;
