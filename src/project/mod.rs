//! The project's folder: where its files are, and how they are read and written.
//!
//! This room knows paths and the file system, and nothing of processes, clocks or decisions. It
//! never edits, moves or deletes what others wrote.

mod atomic_file;
mod briefing;
mod builtin;
mod files;
mod glob;
mod meshes;
mod private;
mod root;
mod runnable;
mod workspace;

pub use atomic_file::{FileUse, replace, write_new, write_numbered, write_with_folders};
pub use briefing::{BadPrompt, BriefingInput, briefing, system_text};
pub use builtin::BUILTIN;
pub use files::{Contents, is_transient, read_regular, try_read_regular, unreadable};
pub use meshes::{Catalogue, MeshEntry, MeshSource, config_in};
pub use private::{
    close_all_in, create_private, make_private_folder, make_private_folders, write_private,
};
pub use root::{BadSettings, NotAProject, Project};
pub use runnable::{cannot_run, find_program, is_program, program_on};
pub use workspace::{Task, fill_placeholders, make_workspace, workspace, worktree_folder};
