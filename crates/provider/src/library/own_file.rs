//! The file that holds this code, found in the kernel's list of what is mapped.

use std::path::PathBuf;

/// The file that holds this code, program or shared library: the one that is mapped where this function is.
pub(crate) fn own_file() -> Option<PathBuf> {
    let here = own_file as fn() -> Option<PathBuf> as usize;
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let file = |line: &str| {
        let (start, rest) = line.split_once('-')?;
        let end = rest.split(' ').next()?;
        let address = |text: &str| usize::from_str_radix(text, 16).ok();
        let is_here = (address(start)?..address(end)?).contains(&here);
        let path = line.find('/').and_then(|at| line.get(at..))?;
        is_here.then(|| PathBuf::from(path))
    };
    maps.lines().find_map(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_with_this_code_is_found() {
        assert_eq!(own_file(), std::env::current_exe().ok());
    }
}
