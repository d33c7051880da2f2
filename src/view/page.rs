//! Long lists, one page at a time.

use schemars::JsonSchema;
use serde::Serialize;

use crate::engine::MessageNo;

/// The page of a list that is wanted; by default the whole list.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Page {
    /// Start after this message.
    pub(crate) after: Option<MessageNo>,
    pub(crate) limit: Option<usize>,
}

/// A page of a list.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Listed<T> {
    pub(crate) items: Vec<T>,
    /// The cursor of the next page, for [`Page::after`]; `None` if this is the last one.
    pub(crate) next: Option<u64>,
}

impl Page {
    /// The first page, with this many items.
    pub(crate) fn first(limit: usize) -> Page {
        Page {
            limit: Some(limit),
            ..Page::default()
        }
    }

    /// Take this page out of a list. If the cursor is no longer in the list, start at the
    /// beginning.
    pub(crate) fn of<T>(self, mut items: Vec<T>, number: impl Fn(&T) -> MessageNo) -> Listed<T> {
        let last_seen = items
            .iter()
            .position(|item| Some(number(item)) == self.after);
        items.drain(..last_seen.map_or(0, |place| place + 1));
        let all = items.len();
        items.truncate(self.limit.unwrap_or(all));
        let next = items.last().filter(|_| items.len() < all);
        Listed {
            next: next.map(|item| number(item).0),
            items,
        }
    }
}

impl<T> Listed<T> {
    /// The same page with its items converted.
    pub(crate) fn try_map<U, E>(self, show: impl FnMut(T) -> Result<U, E>) -> Result<Listed<U>, E> {
        Ok(Listed {
            items: self.items.into_iter().map(show).collect::<Result<_, E>>()?,
            next: self.next,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_of_a_list_are_the_list() {
        let list = |page: Page| page.of(vec![3, 1, 7, 5, 9], |n| MessageNo(*n));
        let whole = list(Page::default());
        assert_eq!((whole.items, whole.next), (vec![3, 1, 7, 5, 9], None));
        let (mut seen, mut page) = (Vec::new(), Page::first(2));
        loop {
            let piece = list(page);
            seen.extend(piece.items);
            page.after = piece.next.map(MessageNo);
            if page.after.is_none() {
                break;
            }
        }
        assert_eq!(seen, [3, 1, 7, 5, 9]);
        let pruned = list(Page {
            after: Some(MessageNo(2)),
            limit: Some(1),
        });
        assert_eq!((pruned.items, pruned.next), (vec![3], Some(3)));
    }
}
