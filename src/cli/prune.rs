//! `tx prune`: archive what is finished, so that the journal becomes smaller.

use std::path::Path;

use super::output::talk;
use super::replay::moment;
use super::{Context, Exit, Refused, short};
use crate::actions;
use crate::format::report::many;

/// Archive what was finished before a time
#[derive(clap::Args)]
#[command(after_help = "Example: tx prune --before 30d\n         tx prune --before 2026-11-01")]
pub(super) struct PruneArgs {
    /// A day, a time or an age such as 30d. Unfinished work stays, regardless of its age
    #[arg(long, value_name = "TIME")]
    before: String,
}

pub(super) fn run(context: &Context, verb: &PruneArgs) -> Result<Exit, Refused> {
    let pruned = actions::prune(&context.project()?, moment(&verb.before)?)?;
    if let Some(error) = &pruned.not_compacted {
        talk(&format!(
            "warning: the journal is as large as before: {error}\n"
        ));
    }
    context.output.answer(&pruned, |view| match &view.archive {
        None => "nothing to archive\n".to_owned(),
        Some(archive) => {
            let many = |count, what| many(usize::try_from(count).unwrap_or(usize::MAX), what);
            let (messages, records) =
                (many(view.messages, "message"), many(view.records, "record"));
            let files = many(view.files as u64, "file");
            let place = short(Path::new(archive));
            format!("{messages}, {records} and {files} archived in {place}\n")
        }
    })
}
