//! Windows performance counter data blocks, counter types, names and paths.
