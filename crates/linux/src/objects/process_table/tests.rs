//! Tests of the processes and threads.
