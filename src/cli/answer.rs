//! `tx answer`: the human's word on an open question.
//!
//! It is a message like any other, written as `tx send` does it: the worker goes on when
//! the daemon takes it in. No agent can give it.

use serde_json::json;

use super::asks;
use super::needs::{self, Need, needs};
use super::output::{many, talk};
use super::past::Past;
use super::post::{self, Letter};
use super::wait::Wait;
use super::{Context, Exit, Failure, agent_here};
use super::{popup, typed};
use crate::daemon::{Answering, running};
use crate::engine::{Facts, Step};
use crate::format::message::headline_of;
use crate::format::report::{printable, printable_lines};
use crate::model::{Address, Body, Kind, did_you_mean};

/// Answer an open question
#[derive(clap::Args)]
#[command(after_help = "Example: tx answer which-colour \"Blue\"")]
pub(super) struct Answer {
    /// Its id, the beginning of that, or who asks [default: the only one, or you choose]
    #[arg(value_name = "ID")]
    id: Option<String>,

    /// The answer; `-` reads it from standard input [default: you are asked for it]
    #[arg(value_name = "TEXT|-", allow_hyphen_values = true)]
    text: Option<String>,

    /// In a popup: it is this agent that asks (tx calls this by itself)
    #[arg(long, hide = true, value_name = "AGENT", requires = "id")]
    popup: Option<String>,

    #[command(flatten)]
    wait: Wait,
}

pub(super) fn run(context: &Context, verb: Answer) -> Result<Exit, Failure> {
    let project = context.project()?;
    if let Some(agent) = agent_here() {
        let why = format!("this is the environment of {agent} (TX_AGENT): only core answers here");
        let hint = "an agent answers what it was asked with `tx send`";
        return Err(Failure::new(why).hint(hint));
    }
    // Alone, `-` is the text.
    let (id, text) = match (verb.id.as_deref(), verb.text) {
        (Some("-"), None) if verb.popup.is_none() => (None, Some("-".to_owned())),
        (id, text) => (id, text),
    };
    let past = Past::open(&project)?.ok_or_else(nothing_open)?;
    let needs = needs(&past)?;
    let is_asked = text.is_none() && typed::is_asked() && verb.popup.is_none();
    let mut answering = match is_asked {
        true => Answering::begin(&project),
        false => None,
    };
    let need = match (id, &verb.popup) {
        (Some(id), Some(from)) => in_popup(&past, &needs, id, from)?,
        (id, _) => choose(&past, &needs, id)?,
    };
    if let Some(answering) = &mut answering {
        answering.is_about(&need.id, &need.from.to_string());
    }
    match need.kind {
        needs::Kind::Ask => {}
        needs::Kind::Dialog | needs::Kind::Limit => {
            let why = format!("{}: no message answers that", need.headline);
            return Err(Failure::new(why).hint(format!("`{}` goes there", need.command())));
        }
    }
    let is_typed = text.is_none();
    let body = match verb.popup {
        Some(_) => match asked_in_popup(need)? {
            Some(body) => body,
            None => return Ok(Exit::Done),
        },
        None => body(need, text)?,
    };
    // While a person typed, it may have been answered elsewhere.
    if is_typed {
        let past = Past::open(&project)?.ok_or_else(nothing_open)?;
        let needs = self::needs(&past)?;
        let is = |open: &Need| (&open.id, &open.from) == (&need.id, &need.from);
        if !needs.iter().any(is) {
            return Err(not_open(&past, &needs, &need.id)?);
        }
    }
    let headline = headline_of(&Body::from(body.as_str())).to_string();
    let mut front = post::front(&Address::core(), std::slice::from_ref(&need.from), headline);
    front.insert("type".into(), Kind::AskResponse.to_string().into());
    front.insert("in-reply-to".into(), need.id.clone().into());
    let letter = Letter::of(&front, &body)?;
    let path = letter.write(&project, Kind::AskResponse)?;

    let open = still_open(&past, need)?;
    let is_alone = running(&project).is_none();
    let still_open = open.iter().map(|(id, of)| json!({ "id": id, "of": of }));
    let answer = json!({
        "id": letter.message.envelope.id, "path": path.to_string_lossy(),
        "to": [need.from], "kind": Kind::AskResponse, "answers": need.id,
        "open": still_open.collect::<Vec<_>>(),
    });
    if !context.output.json {
        let asker = &need.from;
        let open: Vec<String> = open
            .iter()
            .map(|(id, of)| format!("{id} (of {of})"))
            .collect();
        let text = match open.is_empty() {
            true if is_alone => format!("answered; {asker} goes on when tx is started\n"),
            true => format!("{asker} goes on\n"),
            false => format!("answered; {asker} still waits for {}\n", open.join(", ")),
        };
        context.output.say(&printable_lines(&text))?;
    }
    if is_alone {
        talk("no daemon runs here: `tx start` starts one, which takes it up\n");
    }
    verb.wait.then_say(context, &project, &path, answer)
}

/// The question that a popup was opened for, and no other.
fn in_popup<'n>(past: &Past, needs: &'n [Need], id: &str, from: &str) -> Result<&'n Need, Failure> {
    let is_meant = |need: &&Need| need.id == id && need.from.to_string() == from;
    match needs.iter().find(is_meant) {
        Some(need) => Ok(need),
        None => Err(not_open(past, needs, id)?),
    }
}

/// The question that is meant.
fn choose<'n>(past: &Past, needs: &'n [Need], id: Option<&str>) -> Result<&'n Need, Failure> {
    let mut meant: Vec<&Need> = match id {
        Some(id) => named(needs, id),
        None => needs
            .iter()
            .filter(|n| n.kind == needs::Kind::Ask)
            .collect(),
    };
    if id.is_none() && meant.is_empty() {
        meant = needs.iter().collect();
    }
    match (&meant[..], id) {
        ([need], _) => Ok(need),
        ([], Some(id)) => Err(not_open(past, needs, id)?),
        ([], None) => Err(nothing_open()),
        (_, _) if typed::is_asked() => pick(&meant),
        (_, _) => {
            for need in &meant {
                talk(&format!("{}\n", asks::line(need)));
            }
            let why = format!("{} are open: say which", many(meant.len(), "question"));
            let hint = "tx answer ID \"text\"";
            Err(Failure::new(why).hint(hint).exit(Exit::Usage))
        }
    }
}

/// Those of this id; else of this agent; else those that begin with it.
fn named<'n>(needs: &'n [Need], id: &str) -> Vec<&'n Need> {
    let is: [&dyn Fn(&Need) -> bool; 4] = [
        &|need| need.id == id,
        &|need| need.from.to_string() == id,
        &|need| need.from.agent.as_str() == id,
        &|need| need.id.starts_with(id),
    ];
    let found = is
        .iter()
        .map(|is| needs.iter().filter(|need| is(need)).collect());
    let mut found = found.filter(|found: &Vec<&Need>| !found.is_empty());
    found.next().unwrap_or_default()
}

/// Let a person choose by number.
fn pick<'n>(meant: &[&'n Need]) -> Result<&'n Need, Failure> {
    for (place, need) in meant.iter().enumerate() {
        talk(&format!("{:>3}  {}\n", place + 1, asks::line(need)));
    }
    while let Some(line) = typed::line("which one? ")? {
        let place = line.trim().parse::<usize>().ok();
        let picked = place.and_then(|place| meant.get(place.checked_sub(1)?));
        if let Some(need) = picked {
            return Ok(need);
        }
        talk(&format!("a number from 1 to {}\n", meant.len()));
    }
    Err(Failure::new("none was chosen: nothing was sent"))
}

/// What is said, asked for where it is not given.
fn body(need: &Need, text: Option<String>) -> Result<String, Failure> {
    let body = match text.as_deref() {
        Some("-") => post::read_body()?,
        Some(text) => text.to_owned(),
        None if typed::is_asked() => asked_for(need)?,
        None => {
            let hint = format!("{}, or `-` to read it from standard input", need.command());
            return Err(no_text().hint(hint).exit(Exit::Usage));
        }
    };
    match body.trim().is_empty() {
        true => Err(no_text().exit(Exit::Usage)),
        false => Ok(body),
    }
}

fn asked_for(need: &Need) -> Result<String, Failure> {
    let question = show(need);
    match typed::line("your answer (an empty line opens an editor): ")? {
        Some(line) if line.trim().is_empty() => typed::in_editor(&question),
        Some(line) => Ok(line),
        None => Err(no_text()),
    }
}

/// The same in a popup, which opened by itself; `None`: it was closed.
fn asked_in_popup(need: &Need) -> Result<Option<String>, Failure> {
    let question = show(need);
    let answer = match popup::wish()? {
        popup::Wish::Answer => popup::answer(&question)?,
        popup::Wish::Close => None,
    };
    Ok(answer.filter(|answer| !answer.trim().is_empty()))
}

/// Show a question.
fn show(need: &Need) -> String {
    let mut question = format!("{} asks: {}\n", need.from, need.headline);
    question.extend(need.more().map(|more| format!("\n{more}\n")));
    question.extend(need.by_itself().map(|what| format!("\n({what})\n")));
    let question = printable_lines(&question);
    talk(&format!("{}\n", as_fits(&question)));
    question
}

/// As much of a text as the terminal shows at once, from its beginning.
fn as_fits(text: &str) -> String {
    let Some((columns, rows)) = typed::size() else {
        return text.into();
    };
    // A line for the prompt, one for what is left out, and two between.
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

fn no_text() -> Failure {
    Failure::new("there is no text: nothing was sent")
}

fn nothing_open() -> Failure {
    Failure::new("nothing waits for an answer")
        .hint("`tx inbox` shows what has come")
        .exit(Exit::NoSuchThing)
}

/// Why there is no such question, or no longer.
fn not_open(past: &Past, needs: &[Need], id: &str) -> Result<Failure, Failure> {
    let core = Address::core();
    let known = past.named(id)?;
    let failure = match known.iter().find(|facts| facts.asked(&core)) {
        Some(ask) => Failure::new(format!("`{}` is closed: {}", ask.id, became(ask)))
            .hint(format!("`tx send {} …` writes to who asked", ask.from)),
        None if known.is_empty() => {
            let ids = needs.iter().map(|need| need.id.as_str());
            let hint = did_you_mean(id, ids, || "`tx asks` shows what is open".into());
            Failure::new(format!("there is no question `{id}`")).hint(hint)
        }
        None => Failure::new(format!("`{id}` is no question to you"))
            .hint("`tx asks` shows what is open"),
    };
    Ok(failure.exit(Exit::NoSuchThing))
}

/// What became of an ask that is closed.
fn became(ask: &Facts) -> String {
    let delivery = ask.delivery(&Address::core());
    let rung = delivery.and_then(|delivery| delivery.ladder.last());
    let why = rung.and_then(|rung| rung.why.as_deref()).map(printable);
    match rung.map(|rung| rung.step) {
        Some(Step::Finished | Step::Refused) => why.unwrap_or_else(|| "answered".into()),
        Some(step) => step.as_str().into(),
        None => "withdrawn".into(),
    }
}

/// What its asker waits for besides: the asks, and of whom they are.
fn still_open(past: &Past, need: &Need) -> Result<Vec<(String, Address)>, Failure> {
    let asking = past.state.worker(&need.from).map(|worker| &worker.asking);
    let mut open = Vec::new();
    for (number, asked) in asking.into_iter().flatten() {
        if !(asked.is_core() && need.about.contains(number)) {
            open.push((past.id(*number)?, asked.clone()));
        }
    }
    Ok(open)
}
