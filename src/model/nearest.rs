//! "Did you mean": the known names that are nearest to an unknown one.

/// The candidates nearest to `word`: those at the least distance, at most three, none far off.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let word = word.to_lowercase();
    // One letter in three may differ. Nothing is near a word of two letters.
    let limit = (word.chars().count() / 3).min(4);
    let mut close: Vec<(usize, &str)> = candidates
        .into_iter()
        .map(|c| (strsim::damerau_levenshtein(&word, &c.to_lowercase()), c))
        .filter(|(distance, _)| *distance <= limit)
        .collect();
    close.sort();
    close.dedup();
    let best = close.first().map_or(0, |(distance, _)| *distance);
    let best = close
        .into_iter()
        .take_while(|(distance, _)| *distance == best);
    best.take(3).map(|(_, name)| name).collect()
}

/// `did you mean a or b?`, or `otherwise` if nothing is near.
pub fn did_you_mean<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    otherwise: impl FnOnce() -> String,
) -> String {
    let close: Vec<String> = nearest(word, candidates)
        .iter()
        .map(|name| format!("`{name}`"))
        .collect();
    if close.is_empty() {
        otherwise()
    } else {
        format!("did you mean {}?", close.join(" or "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_finds_its_name_and_noise_finds_nothing() {
        let names = ["worker", "writer", "reviewer", "entry_point"];
        assert_eq!(nearest("wroker", names), ["worker"]);
        assert_eq!(nearest("Writer", names), ["writer"]);
        assert_eq!(nearest("entrypoint", names), ["entry_point"]);
        assert!(nearest("zebra", names).is_empty());
        assert!(nearest("", names).is_empty());
        assert!(nearest("c", ["b", "cd"]).is_empty());
    }
}
