//! The skills as models are told of them: short, however many there are.

use super::Custom;

/// How much of a description stands in the list, when there is room. Characters.
const DESCRIPTION: usize = 300;

/// The same when there is little room.
const SHORT: usize = 80;

/// The list is never longer. Bytes.
const LIMIT: usize = 8 * 1024;

/// One line a skill: with its description, with the beginning of that, or by its name alone.
pub(super) fn of(skills: &[&Custom]) -> String {
    for most in [DESCRIPTION, SHORT] {
        let list: String = skills.iter().map(|skill| line(skill, most)).collect();
        if list.len() <= LIMIT {
            return list;
        }
    }
    let mut list = String::new();
    let mut left_out = 0;
    for skill in skills {
        let line = format!("\n- {}", skill.name);
        if list.len() + line.len() <= LIMIT - 40 {
            list.push_str(&line);
        } else {
            left_out += 1;
        }
    }
    if left_out > 0 {
        list.push_str(&format!("\n{left_out} more are not listed"));
    }
    list
}

fn line(skill: &Custom, most: usize) -> String {
    let Custom { name, description, .. } = skill;
    if description.chars().count() <= most {
        return format!("\n- {name}: {description}");
    }
    let cut: String = description.chars().take(most - 1).collect();
    format!("\n- {name}: {}…", cut.trim_end())
}
