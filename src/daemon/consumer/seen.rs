//! The files that were taken, by folder. If the folder is replaced for a while and comes back, its
//! files are still known.

use std::collections::{HashMap, VecDeque};

/// The hash of each file name, with the hash of its stamp.
pub(super) type StampByName = HashMap<u64, u64>;

/// How many folders are remembered. While the real folder is away, tx makes another one for each of
/// its own messages, and somebody may remove that again.
const MAX: usize = 16;

/// The files that were taken from the current folder and from those before it.
pub(super) struct TakenFiles {
    /// The current folder comes first. There is always one.
    folders: VecDeque<FolderFiles>,
}

#[derive(Default)]
struct FolderFiles {
    inode: Option<u64>,
    files: StampByName,
}

impl TakenFiles {
    pub(super) fn new() -> TakenFiles {
        TakenFiles {
            folders: VecDeque::from([FolderFiles::default()]),
        }
    }

    /// Note that the folder with this inode is the current one.
    pub(super) fn enter(&mut self, inode: u64) {
        let now = &mut self.folders[0];
        if *now.inode.get_or_insert(inode) == inode {
            return;
        }
        let known = self.folders.iter();
        let known = known.skip(1).position(|one| one.inode == Some(inode));
        let entered = known.and_then(|place| self.folders.remove(place + 1));
        self.folders.push_front(entered.unwrap_or(FolderFiles {
            inode: Some(inode),
            files: StampByName::new(),
        }));
        self.folders.truncate(MAX);
    }

    /// Replace the list of taken files of the current folder.
    pub(super) fn set(&mut self, files: StampByName) {
        self.folders[0].files = files;
    }

    pub(super) fn insert(&mut self, name: u64, stamp: u64) {
        self.folders[0].files.insert(name, stamp);
    }

    /// The stamp with which a file was taken.
    pub(super) fn stamp_of(&self, name: u64) -> Option<u64> {
        self.folders[0].files.get(&name).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_folder_are_known_when_it_is_back() {
        let mut seen = TakenFiles::new();
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
        seen.enter(9);
        seen.enter(7);
        assert_eq!((seen.stamp_of(1), seen.stamp_of(2)), (Some(10), None));
        seen.enter(8);
        assert_eq!(seen.stamp_of(2), Some(20));
        for other in 100..100 + MAX as u64 {
            seen.enter(other);
        }
        seen.enter(8);
        assert_eq!(seen.stamp_of(2), None, "so many folders are remembered");
    }
}
