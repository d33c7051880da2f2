//! `tx man`: the manual page, made from the command line itself.

use clap_mangen::Man;

use super::help::{command, summary};
use super::{Exit, Output, Refused};

/// Print the manual page of tx, or of a verb
#[derive(clap::Args)]
#[command(after_help = "Example: tx man > ~/.local/share/man/man1/tx.1")]
pub(super) struct ManArgs {
    /// The verb [default: tx itself]
    verb: Option<String>,
}

pub(super) fn run(verb: &ManArgs) -> Result<Exit, Refused> {
    let mut all = command();
    all.build();
    let page = match verb.verb.as_deref() {
        None => all,
        Some(name) if !summary(&all, name).is_empty() && name != "help" => {
            all.find_subcommand(name).cloned().unwrap_or_default()
        }
        Some(name) => {
            let why = format!("there is no verb `{name}`");
            return Err(Refused::no_such_thing(why).hint("`tx help` lists them"));
        }
    };
    let mut text = Vec::new();
    Man::new(page)
        .render(&mut text)
        .map_err(|error| Refused::new(format!("the page cannot be created: {error}")))?;
    // The page is text for `man`, even with --json.
    Output { json: false }.say(&String::from_utf8_lossy(&text))?;
    Ok(Exit::Done)
}
