//! The files that were taken, by folder: a folder that another stood in for is known when it is back.

use std::collections::HashMap;

/// The hash of each name, and that of its stamp.
pub(super) type StampByName = HashMap<u64, u64>;

/// The files that were taken from the folder that is there now, and from the one before it.
#[derive(Default)]
pub(super) struct TakenFiles {
    now: FolderFiles,
    before: FolderFiles,
}

#[derive(Default)]
struct FolderFiles {
    inode: Option<u64>,
    files: StampByName,
}

impl TakenFiles {
    /// The folder of this inode is there now.
    pub(super) fn enter(&mut self, inode: u64) {
        if self.now.inode.is_some_and(|now| now != inode) {
            std::mem::swap(&mut self.now, &mut self.before);
            if self.now.inode != Some(inode) {
                self.now = FolderFiles::default();
            }
        }
        self.now.inode = Some(inode);
    }

    /// These are all files of the folder that were taken.
    pub(super) fn set(&mut self, files: StampByName) {
        self.now.files = files;
    }

    pub(super) fn insert(&mut self, name: u64, stamp: u64) {
        self.now.files.insert(name, stamp);
    }

    /// The stamp with which a file was taken.
    pub(super) fn stamp_of(&self, name: u64) -> Option<u64> {
        self.now.files.get(&name).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_folder_are_known_when_it_is_back() {
        let mut seen = TakenFiles::default();
        seen.insert(1, 10);
        seen.enter(7);
        assert_eq!(
            seen.stamp_of(1),
            Some(10),
            "as before it was known by number"
        );
        seen.enter(8);
        assert_eq!(seen.stamp_of(1), None);
        seen.insert(2, 20);
        seen.enter(8);
        assert_eq!(seen.stamp_of(2), Some(20));
        seen.enter(7);
        assert_eq!((seen.stamp_of(1), seen.stamp_of(2)), (Some(10), None));
        seen.enter(9);
        seen.enter(8);
        assert_eq!(seen.stamp_of(2), None, "two folders are remembered");
    }
}
