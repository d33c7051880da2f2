//! `tx answer`: the human's answer to an open question. An agent cannot give it.

use super::output::talk;
use super::wait::Wait;
use super::{Context, Exit, Refused, agent_here, asks, open_journal, read_body};
use super::{line_input, popup};
use crate::actions::{self, Answered, ask_of, asks_named, nothing_open};
use crate::daemon::{AnswerLock, running};
use crate::format::report::{many, printable_lines};
use crate::view::{AskKind, AskView, FoldedJournal, Reason};

/// Answer an open question
#[derive(clap::Args)]
#[command(after_help = "Example: tx answer which-colour \"Blue\"")]
pub(super) struct AnswerArgs {
    /// The id of the question, the beginning of it, or the agent that asks [default: the only open
    /// question, or you choose]
    #[arg(value_name = "ID", index = 1)]
    id: Option<String>,

    /// The answer; `-` reads it from standard input [default: tx asks you for it]
    #[arg(value_name = "TEXT|-", allow_hyphen_values = true, index = 2)]
    text: Option<String>,

    /// In a popup: the agent that asks (tx calls this itself)
    #[arg(long, hide = true, value_name = "AGENT", requires = "id")]
    popup: Option<String>,

    #[command(flatten)]
    wait: Wait,
}

pub(super) fn run(context: &Context, verb: AnswerArgs) -> Result<Exit, Refused> {
    let project = context.project()?;
    if let Some(agent) = agent_here() {
        let why = format!("this is the environment of {agent} (TX_AGENT): only core answers here");
        let hint = "an agent answers what it was asked with `tx send`";
        return Err(Refused::new(why).hint(hint));
    }
    // A single `-` is the text.
    let (id, text) = match (verb.id.as_deref(), verb.text) {
        (Some("-"), None) if verb.popup.is_none() => (None, Some("-".to_owned())),
        (id, text) => (id, text),
    };
    let past = open_journal(&project)?.ok_or_else(nothing_open)?;
    let is_asked = text.is_none() && line_input::is_asked() && verb.popup.is_none();
    let mut answering = match is_asked {
        true => AnswerLock::begin(&project),
        false => None,
    };
    let ask = match (id, &verb.popup) {
        (Some(id), Some(from)) => ask_of(past.history(), id, from)?,
        (id, _) => choose(&past, id)?,
    };
    if let Some(answering) = &mut answering {
        answering.is_about(&ask.id, &ask.from.to_string());
    }
    if ask.kind == AskKind::Limit || (ask.kind == AskKind::Permission && ask.request.is_none()) {
        let why = format!("{}: no message answers that", ask.headline);
        return Err(Refused::new(why).hint(format!("`{}` goes there", ask.command())));
    }
    let body = match verb.popup {
        Some(_) => match asked_in_popup(&ask)? {
            Some(body) => body,
            None => return Ok(Exit::Done),
        },
        None => body(&ask, text)?,
    };
    if ask.kind == AskKind::Permission {
        let decided = actions::decide(&project, &ask, &body)?;
        let text = |done: &actions::Decided| format!("{}: {}\n", done.agent, done.done);
        return context.output.answer(&decided, text);
    }
    let answered = actions::answer(&project, &ask, &body)?;
    talk(&answered.report);
    let is_alone = running(&project).is_none();
    if !context.output.json {
        context.output.say(&as_text(&answered, is_alone))?;
    }
    if is_alone {
        talk("tx is not running here: `tx start` starts it, and it delivers the answer\n");
    }
    let (path, id) = (answered.path.clone(), answered.id.clone());
    verb.wait.then_say(context, &project, &path, &id, answered)
}

fn as_text(answered: &Answered, is_alone: bool) -> String {
    let [asker] = &answered.to;
    let open = answered.open.iter();
    let open: Vec<String> = open
        .map(|ask| format!("{} (of {})", ask.id, ask.of))
        .collect();
    printable_lines(&match open.is_empty() {
        true if is_alone => format!("answered; {asker} continues when tx is started\n"),
        true => format!("{asker} continues\n"),
        false => format!("answered; {asker} still waits for {}\n", open.join(", ")),
    })
}

/// Find the question.
fn choose(past: &FoldedJournal, id: Option<&str>) -> Result<AskView, Refused> {
    let mut meant = asks_named(past.history(), id)?;
    match meant.len() {
        0 => Err(nothing_open()),
        1 => Ok(meant.remove(0)),
        _ if line_input::is_asked() => pick(meant),
        count => {
            for ask in &meant {
                talk(&format!("{}\n", asks::line(ask)));
            }
            let why = format!("{} are open: say which", many(count, "question"));
            let refused = Refused::new(why).hint("tx answer ID \"text\"");
            Err(refused.because(Reason::Usage))
        }
    }
}

/// Let the user choose by number.
fn pick(mut meant: Vec<AskView>) -> Result<AskView, Refused> {
    for (place, ask) in meant.iter().enumerate() {
        talk(&format!("{:>3}  {}\n", place + 1, asks::line(ask)));
    }
    while let Some(line) = line_input::line("which one? ")? {
        let place = line.trim().parse::<usize>().ok();
        let picked = place.and_then(|place| place.checked_sub(1));
        if let Some(picked) = picked.filter(|picked| *picked < meant.len()) {
            return Ok(meant.swap_remove(picked));
        }
        talk(&format!("a number from 1 to {}\n", meant.len()));
    }
    Err(Refused::new("none was chosen: nothing was sent"))
}

/// The answer. If it was not given, ask for it.
fn body(ask: &AskView, text: Option<String>) -> Result<String, Refused> {
    let body = match text.as_deref() {
        Some("-") => read_body()?,
        Some(text) => text.to_owned(),
        None if line_input::is_asked() => asked_for(ask)?,
        None => {
            let hint = format!("{}, or `-` to read it from standard input", ask.command());
            return Err(no_text().hint(hint).because(Reason::Usage));
        }
    };
    match body.trim().is_empty() {
        true => Err(no_text().because(Reason::Usage)),
        false => Ok(body),
    }
}

fn asked_for(ask: &AskView) -> Result<String, Refused> {
    let question = show(ask);
    match line_input::line("your answer (an empty line opens an editor): ")? {
        Some(line) if line.trim().is_empty() => line_input::in_editor(&question),
        Some(line) => Ok(line),
        None => Err(no_text()),
    }
}

/// The same in a popup, which opened by itself; `None` if it was closed.
fn asked_in_popup(ask: &AskView) -> Result<Option<String>, Refused> {
    let question = show(ask);
    let answer = match popup::wait_for_choice()? {
        popup::PopupChoice::Answer => popup::answer(&question)?,
        popup::PopupChoice::Close => None,
    };
    Ok(answer.filter(|answer| !answer.trim().is_empty()))
}

/// Show a question.
fn show(ask: &AskView) -> String {
    let mut question = format!("{} asks: {}\n", ask.from, ask.headline);
    question.extend(ask.more().map(|more| format!("\n{more}\n")));
    let decides: Vec<String> = ask.decides().collect();
    if !decides.is_empty() {
        question += &format!("\n{}\n", decides.join("\n"));
    }
    question.extend(asks::by_itself(ask).map(|what| format!("\n({what})\n")));
    let question = printable_lines(&question);
    talk(&format!("{}\n", as_fits(&question)));
    question
}

/// The beginning of a text, as much as fits on the terminal.
fn as_fits(text: &str) -> String {
    let Some((columns, rows)) = line_input::size() else {
        return text.into();
    };
    // One line for the prompt, one for the note about omitted lines, and two blank ones.
    let mut room = rows.saturating_sub(4).max(1);
    let mut shown = String::new();
    let lines: Vec<&str> = text.lines().collect();
    for (place, line) in lines.iter().enumerate() {
        let takes = line.chars().count().div_ceil(columns).max(1);
        if takes > room {
            let first: String = line.chars().take(columns * room).collect();
            let left = lines.len() - place;
            return format!(
                "{shown}{first}\n… {} more, in the editor\n",
                many(left, "line")
            );
        }
        room -= takes;
        shown += line;
        shown.push('\n');
    }
    shown
}

fn no_text() -> Refused {
    Refused::new("there is no text: nothing was sent")
}
