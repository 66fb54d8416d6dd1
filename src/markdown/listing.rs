//! Lists items by name and description for models, within a size limit.

/// Writes one line per item. Descriptions are cut to the largest of `lengths` (in characters) at
/// which the list fits into `limit` bytes; if none fits, only names are listed.
pub fn format_listing<'a>(
    things: impl Iterator<Item = (&'a str, &'a str)> + Clone,
    lengths: &[usize],
    limit: usize,
) -> String {
    for most in lengths {
        let list: String = things
            .clone()
            .map(|(name, description)| format_line(name, description, *most))
            .collect();
        if list.len() <= limit {
            return list;
        }
    }
    let (mut list, mut left_out) = (String::new(), 0);
    for (name, _) in things {
        let line = format!("\n- {name}");
        if list.len() + line.len() <= limit - 40 {
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

fn format_line(name: &str, description: &str, most: usize) -> String {
    if description.chars().count() <= most {
        return format!("\n- {name}: {description}");
    }
    let cut: String = description.chars().take(most - 1).collect();
    format!("\n- {name}: {}…", cut.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_shorten_evenly_and_never_pass_the_limit() {
        let names: Vec<String> = (0..400).map(|number| format!("agent-{number}")).collect();
        let list = |count: usize| {
            let things = names[..count].iter().map(|name| (name.as_str(), "Finds things at once."));
            format_listing(things, &[usize::MAX, 10], 1000)
        };
        assert!(list(2).ends_with("\n- agent-1: Finds things at once."));
        assert!(list(40).ends_with("\n- agent-39: Finds thi…"), "{}", list(40));
        assert!(list(60).ends_with("\n- agent-59"));
        assert!(list(400).ends_with(" more are not listed") && list(400).len() <= 1000);
    }
}
