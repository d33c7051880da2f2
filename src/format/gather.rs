//! Merges the results of a block into one text.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::model::Gather;

/// The maximum size of the merged text. Larger results are not merged.
pub const MAX_GATHERED: usize = 1024 * 1024;

/// Texts that share this fraction of their words count as one vote.
const SAME_VOTE: f64 = 0.8;

/// The result of one member.
#[derive(Clone, Copy, Debug)]
pub struct GatheredResult<'a> {
    /// The author's name.
    pub author: &'a str,
    /// Its body.
    pub text: &'a str,
}

/// All results as one text, in member order. `None` if the join gets the messages themselves:
/// because the strategy says so, there is nothing to merge, or the text would be too large.
pub fn gather(strategy: &Gather, results: &[GatheredResult]) -> Option<String> {
    if results.is_empty() {
        return None;
    }
    let text = match strategy {
        Gather::Concat => return None,
        Gather::Deduplicate => deduplicate(results),
        Gather::Voting => voting(results),
        Gather::Consensus => consensus(results),
        Gather::Custom(prompt) => custom(prompt, results),
    };
    (text.len() <= MAX_GATHERED).then_some(text)
}

/// A line as it was first written, and the members that have it.
struct UniqueLine<'a> {
    text: &'a str,
    authors: Vec<usize>,
}

/// Every line once, in order of appearance. Blank lines are left out.
fn unique_lines<'a>(results: &[GatheredResult<'a>]) -> Vec<UniqueLine<'a>> {
    let mut lines: Vec<UniqueLine> = Vec::new();
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for (member, result) in results.iter().enumerate() {
        for text in result
            .text
            .lines()
            .map(str::trim)
            .filter(|text| !text.is_empty())
        {
            let at = *known.entry(text.to_lowercase()).or_insert(lines.len());
            match lines.get_mut(at) {
                Some(line) if line.authors.last() == Some(&member) => {}
                Some(line) => line.authors.push(member),
                None => lines.push(UniqueLine {
                    text,
                    authors: vec![member],
                }),
            }
        }
    }
    lines
}

/// The authors, each once; `3 of 5` if there are many.
fn authors(results: &[GatheredResult], members: &[usize]) -> String {
    let names: Vec<&str> = members
        .iter()
        .map(|member| results[*member].author)
        .collect();
    names.join(", ")
}

fn with_authors(out: &mut String, results: &[GatheredResult], line: &UniqueLine) {
    let _ = writeln!(out, "{} ({})", line.text, authors(results, &line.authors));
}

fn deduplicate(results: &[GatheredResult]) -> String {
    let mut out = format!(
        "Each line of the {} results once, with its authors:\n\n",
        results.len()
    );
    for line in unique_lines(results) {
        with_authors(&mut out, results, &line);
    }
    out
}

fn consensus(results: &[GatheredResult]) -> String {
    let enough = results.len().div_ceil(2).max(2);
    let (agreed, other): (Vec<UniqueLine>, Vec<UniqueLine>) = unique_lines(results)
        .into_iter()
        .partition(|line| line.authors.len() >= enough);
    let mut out = format!(
        "Lines in at least {enough} of the {} results:\n\n",
        results.len()
    );
    if agreed.is_empty() {
        out += "(none)\n";
    }
    for line in &agreed {
        with_authors(&mut out, results, line);
    }
    if !other.is_empty() {
        out += "\nThe other lines:\n\n";
    }
    for line in &other {
        with_authors(&mut out, results, line);
    }
    out
}

fn voting(results: &[GatheredResult]) -> String {
    let words: Vec<BTreeSet<String>> = results.iter().map(|result| word_set(result.text)).collect();
    let same = |a: usize, b: usize| match (words[a].is_empty(), words[b].is_empty()) {
        (false, false) => similarity(&words[a], &words[b]) >= SAME_VOTE,
        _ => results[a].text.trim() == results[b].text.trim(),
    };
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for member in 0..results.len() {
        match groups.iter_mut().find(|group| same(group[0], member)) {
            Some(group) => group.push(member),
            None => groups.push(vec![member]),
        }
    }
    let most = groups.iter().map(Vec::len).max().unwrap_or(0);
    let winners: Vec<&Vec<usize>> = groups.iter().filter(|group| group.len() == most).collect();
    let total = results.len();
    let shown = |out: &mut String, group: &[usize]| {
        let votes = format!("{}/{total}: {}", group.len(), authors(results, group));
        // Of two texts of the same length, take the first one: the order of the members decides.
        let longest = group
            .iter()
            .rev()
            .max_by_key(|member| results[**member].text.len());
        let text = longest.map_or("", |member| results[*member].text);
        let _ = write!(out, "{votes}\n\n{}\n", text.trim_end());
    };
    let mut out = String::new();
    if let [winner] = winners[..] {
        shown(&mut out, winner);
        return out;
    }
    let _ = writeln!(out, "There is a tie of {} answers:", winners.len());
    for group in &groups {
        out.push('\n');
        shown(&mut out, group);
    }
    out
}

/// The words of three letters or more.
fn word_set(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let long = words.filter(|word| word.chars().count() >= 3);
    long.map(str::to_lowercase).collect()
}

fn similarity(a: &BTreeSet<String>, b: &BTreeSet<String>) -> f64 {
    let shared = a.intersection(b).count();
    let all: BTreeSet<&String> = a.union(b).collect();
    shared as f64 / all.len() as f64
}

fn custom(prompt: &str, results: &[GatheredResult]) -> String {
    let mut out = String::new();
    if !prompt.trim().is_empty() {
        let _ = write!(out, "{}\n\n", prompt.trim());
    }
    for result in results {
        let _ = write!(out, "## {}\n\n{}\n\n", result.author, result.text.trim());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn gathered(strategy: &Gather, texts: &[&'static str]) -> Option<String> {
        const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
        let results: Vec<GatheredResult> = NAMES
            .into_iter()
            .zip(texts)
            .map(|(author, text)| GatheredResult { author, text })
            .collect();
        gather(strategy, &results)
    }

    #[test]
    fn each_strategy_gathers() {
        let texts = [
            "Use a lock.\nTest it",
            "use a LOCK.\nNo tests",
            "Use a lock.\n\nTest it",
        ];
        for (strategy, expected) in [
            (Gather::Concat, None),
            (
                Gather::Deduplicate,
                Some(
                    "Each line of the 3 results once, with its authors:\n\nUse a lock. (a, b, c)\nTest it (a, c)\nNo tests (b)\n",
                ),
            ),
            (
                Gather::Consensus,
                Some(
                    "Lines in at least 2 of the 3 results:\n\nUse a lock. (a, b, c)\nTest it (a, c)\n\nThe other lines:\n\nNo tests (b)\n",
                ),
            ),
            (
                Gather::Voting,
                Some("2/3: a, c\n\nUse a lock.\n\nTest it\n"),
            ),
            (
                Gather::Custom("Weigh.".into()),
                Some(
                    "Weigh.\n\n## a\n\nUse a lock.\nTest it\n\n## b\n\nuse a LOCK.\nNo tests\n\n## c\n\nUse a lock.\n\nTest it\n\n",
                ),
            ),
        ] {
            assert_eq!(
                gathered(&strategy, &texts).as_deref(),
                expected,
                "{strategy:?}"
            );
        }
    }

    #[test]
    fn a_tie_lists_all_groups() {
        let text = gathered(&Gather::Voting, &["yes indeed", "never ever"]).unwrap();
        assert!(
            text.starts_with("There is a tie of 2 answers:\n\n1/2: a\n\nyes indeed\n\n1/2: b"),
            "{text}"
        );
    }

    #[test]
    fn texts_without_long_words_vote_by_equality() {
        let text = gathered(&Gather::Voting, &["no", "ok", "ok "]).unwrap();
        assert!(text.starts_with("2/3: b, c\n\nok"), "{text}");
    }

    #[test]
    fn half_is_not_enough_for_consensus_if_that_is_one() {
        let text = gathered(&Gather::Consensus, &["x", "y"]).unwrap();
        assert!(text.contains("(none)"), "{text}");
    }

    #[test]
    fn nothing_and_too_much_are_not_gathered() {
        assert_eq!(gathered(&Gather::Deduplicate, &[]), None);
        let long = "a b\n".repeat(MAX_GATHERED / 4 + 1);
        let results = [GatheredResult {
            author: "a",
            text: &long,
        }];
        assert_eq!(gather(&Gather::Custom(String::new()), &results), None);
        assert!(gather(&Gather::Deduplicate, &results).is_some());
    }

    proptest! {
        #[test]
        fn the_same_results_are_gathered_alike(texts in prop::collection::vec("[a-z \n]{0,40}", 1..5)) {
            let results: Vec<GatheredResult> = texts.iter().map(|text| GatheredResult { author: "x", text }).collect();
            for strategy in [Gather::Deduplicate, Gather::Voting, Gather::Consensus] {
                prop_assert_eq!(gather(&strategy, &results), gather(&strategy, &results));
            }
            // No line is lost.
            let unique = gather(&Gather::Deduplicate, &results).unwrap();
            for line in texts.iter().flat_map(|text| text.lines()).map(str::trim).filter(|line| !line.is_empty()) {
                prop_assert!(unique.to_lowercase().contains(&line.to_lowercase()));
            }
        }
    }
}
