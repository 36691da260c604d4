//! What is in a log.
