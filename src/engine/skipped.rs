//! Predicates for serde that leave fields with default values out, so that old records keep
//! their form.

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
pub(super) fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
pub(super) fn is_false(is: &bool) -> bool {
    !is
}
