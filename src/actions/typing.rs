//! Tells a person who goes to an agent's pane what happens if they type there now.

use super::Panes;
use crate::model::{Address, Mode};
use crate::project::{Catalogue, Project};
use crate::runtime::screen::{Look, Screen, classify};

/// What happens to text typed into a pane now, in words; `None` if that is unknown.
pub(crate) fn typing_now(
    project: &Project,
    panes: &Panes,
    agent: &Address,
    pane: &str,
) -> Option<String> {
    let catalogue = Catalogue::load(Some(project));
    let mesh = catalogue.get(agent.mesh.as_str())?.mesh.as_ref()?;
    let config = mesh.agents.get(&agent.agent)?;
    let runtime = catalogue.runtimes.of(config)?;
    let screen = look(panes, pane)?;
    let says = match classify(&runtime.screen, &screen) {
        Look::Dead => "its program has ended".into(),
        _ if runtime.mode_of(config) == Mode::Turn => {
            "look only: each turn has a process of its own, which does not read what you type"
                .into()
        }
        _ if !runtime.screen.is_typed_to() => "what you type goes to its program".into(),
        Look::Idle => "safe to type: it waits".into(),
        Look::Busy => {
            "careful: it is at work, and what you type goes into its turn or waits for its end"
                .into()
        }
        Look::Dialog { .. } => {
            "careful: it shows a dialog, which the next key may answer (`tx asks` shows it too)"
                .into()
        }
        Look::Limited { .. } => {
            "careful: its account has hit its limit, so you get no answer".into()
        }
        Look::Unknown(why) => format!("careful: {why}"),
    };
    Some(says)
}

/// What a pane shows.
fn look(panes: &Panes, pane: &str) -> Option<Screen> {
    let format = "#{cursor_x},#{cursor_y},#{pane_dead},#{pane_title}";
    let shown = panes.run_all(&[
        vec!["display-message", "-p", "-t", pane, format],
        vec!["capture-pane", "-p", "-t", pane],
    ]);
    let shown = shown.ok()?;
    let mut lines = shown.lines();
    let mut first = lines.next()?.splitn(4, ',');
    let cursor = Some([first.next()?.parse().ok()?, first.next()?.parse().ok()?]);
    Some(Screen {
        cursor,
        dead: first.next()? == "1",
        title: first.next()?.into(),
        lines: lines.map(|line| line.trim_end().to_owned()).collect(),
    })
}
