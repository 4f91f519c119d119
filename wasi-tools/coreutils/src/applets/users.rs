//! Names of users and groups, from `/etc/passwd` and `/etc/group`.

/// The lines of a file of records with `:` between the fields.
fn records(path: &str) -> Vec<Vec<String>> {
    let text = std::fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    text.lines()
        .map(|line| line.split(':').map(str::to_owned).collect())
        .collect()
}

/// Name and number of a user or group whose record `matches` takes.
fn find(path: &str, matches: impl Fn(&str, &str) -> bool) -> Option<Vec<String>> {
    records(path)
        .into_iter()
        .find(|record| match record.as_slice() {
            [name, _, id, ..] => matches(name, id),
            _ => false,
        })
}

fn name_in(path: &str, id: u32) -> Option<String> {
    let id = id.to_string();
    find(path, |_, number| number == id)?.into_iter().next()
}

/// The name of a user.
pub(super) fn user_name(uid: u32) -> Option<String> {
    name_in("/etc/passwd", uid)
}

/// The name of a group.
pub(super) fn group_name(gid: u32) -> Option<String> {
    name_in("/etc/group", gid)
}

/// A user: number and own group.
#[derive(Clone, Debug)]
pub(super) struct User {
    pub(super) name: String,
    pub(super) uid: u32,
    pub(super) gid: u32,
}

/// The user with this name or number.
pub(super) fn user(text: &str) -> Option<User> {
    let record = find("/etc/passwd", |name, _| name == text).or_else(|| {
        find("/etc/passwd", |_, id| {
            text.parse::<u32>().is_ok() && id == text
        })
    })?;
    match record.as_slice() {
        [name, _, uid, gid, ..] => Some(User {
            name: name.clone(),
            uid: uid.parse().ok()?,
            gid: gid.parse().ok()?,
        }),
        _ => None,
    }
}

/// The number of the group with this name or number.
pub(super) fn group(text: &str) -> Option<u32> {
    let named =
        find("/etc/group", |name, _| name == text).and_then(|record| record.get(2)?.parse().ok());
    named.or_else(|| text.parse().ok())
}

/// All groups that a user is in, the own one first.
pub(super) fn groups_of(user: &User) -> Vec<u32> {
    let mut groups = vec![user.gid];
    for record in records("/etc/group") {
        if let [_, _, gid, members, ..] = record.as_slice()
            && members.split(',').any(|member| member == user.name)
            && let Ok(gid) = gid.parse()
            && !groups.contains(&gid)
        {
            groups.push(gid);
        }
    }
    groups
}
