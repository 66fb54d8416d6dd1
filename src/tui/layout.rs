//! The screen's layout at any size. Computes areas, draws nothing.

use ratatui::layout::Rect;

use crate::protocol::PaneLayout;

/// Maximum lines of the prompt.
const MAX_PROMPT_LINES: u16 = 8;

/// Height of a small screen from which it has a status line that the user's own command prints.
const OWN_STATUS_HEIGHT: u16 = 12;

/// Maximum number of visible queued messages.
const MAX_QUEUE_LINES: u16 = 3;

/// Maximum number of rows of background agents and commands below panes; the last one counts those
/// that do not fit.
const MAX_BACKGROUND_ROWS: u16 = 2;

/// Without panes, the background may have this part of the height instead.
const BACKGROUND_PART: u16 = 5;

/// Maximum width of prose, in cells.
pub const MAX_PROSE_WIDTH: u16 = 100;

/// On a wide screen, panes that would get fewer lines than this are arranged in two columns.
const SPLIT_SLOT_LINES: u16 = 5;

/// Minimum width of a column of agents that are only lines.
const LINE_WIDTH: u16 = 38;

/// Minimum lines of the transcript above a list or grid of agents.
const MIN_TRANSCRIPT_LINES: u16 = 3;

/// Lines of the pane that opens below such a list for the focused agent, if there is room.
const OPEN_LINES: u16 = 10;

/// Above a question that covers the panel, its agents keep at most this part of the body.
const AGENTS_PART: u16 = 4;

/// Below a transcript, they keep up to so many lines even if that is more, but not more than a third: the
/// header, lines of agents, and two lines of what led to the question.
const LINES_ABOVE: u16 = 6;

/// Lines of what led to a question that stay above it.
pub const LEAD_LINES: u16 = 2;

/// Lines above a question from which on a blank one sets it apart.
const MIN_GAP_LINES: u16 = 3;

/// Lines of a body from which on the blank line before that pane takes none of it.
const ROOMY_LINES: u16 = 30;

/// The input of a layout.
#[derive(Clone, Copy, Debug, Default)]
pub struct LayoutInput {
    pub width: u16,
    pub height: u16,
    /// Agents in the panel.
    pub agents: usize,
    /// Whether one of them has the focus.
    pub focused: bool,
    /// Whether one of them needs the user or has failed, so that a line above a grid names it.
    pub trouble: bool,
    /// Lines that the draft needs.
    pub prompt: u16,
    /// Queued messages.
    pub queued: u16,
    /// Agents and commands in the background.
    pub background: usize,
    /// Whether the agent in the body works, so that a line says at what.
    pub work: bool,
    /// Whether the user's own command has printed the status line.
    pub own_status: bool,
    /// Whether one agent fills the body.
    pub zoom: bool,
    pub panes: PaneLayout,
}

/// How the agents are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Panel {
    /// The whole panel without its header and the line below it.
    pub area: Rect,
    /// The line above the slots; absent when agents are rows below the transcript.
    pub header: Option<Rect>,
    /// The line below the header of a grid, about agents in trouble and those that do not fit.
    pub note: Option<Rect>,
    /// Whether it is right of the transcript, with a line between.
    pub right: bool,
    pub columns: u16,
    /// Lines of each pane, of which some have one more to fill the height; 1 means lines.
    pub slot: u16,
    /// The pane of the focused agent, where all agents are lines, or of the one that asks.
    pub open: Option<Rect>,
    /// Whether that is the one that asks.
    pub asker: bool,
}

impl Panel {
    /// Width of a column.
    pub fn column_width(&self) -> u16 {
        (self.area.width - 3 * (self.columns - 1)) / self.columns
    }

    /// The left edge of a column.
    pub fn column_x(&self, column: u16) -> u16 {
        self.area.x + column * (self.column_width() + 3)
    }

    /// The areas of the panes, one column after the other; `small` has the lines of those that leave
    /// their room to others. The panes of a column fill its height.
    pub fn slot_areas(&self, small: &[Option<u16>]) -> Vec<Rect> {
        let per_column = small.len().div_ceil(usize::from(self.columns)).max(1);
        let mut areas = Vec::with_capacity(small.len());
        for (column, slots) in small.chunks(per_column).enumerate() {
            let x = self.column_x(u16::try_from(column).unwrap_or(0));
            let large = slots.iter().filter(|slot| slot.is_none()).count();
            // Without a pane that could take the room, all have the same.
            let fixed = |slot: &Option<u16>| slot.filter(|_| large > 0);
            let sharing = if large > 0 { large } else { slots.len() };
            let taken: u16 = slots.iter().filter_map(fixed).sum();
            let free = usize::from(self.area.height.saturating_sub(taken));
            let (mut y, mut before) = (self.area.y, 0);
            for slot in slots {
                let height = fixed(slot).unwrap_or_else(|| {
                    let line = |row: usize| row * free / sharing;
                    before += 1;
                    u16::try_from(line(before) - line(before - 1)).unwrap_or(0)
                });
                areas.push(Rect::new(x, y, self.column_width(), height));
                y += height;
            }
        }
        areas
    }
}

/// The areas of one frame. Absent areas have no lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScreenLayout {
    /// Everything above the line about the work.
    pub body: Rect,
    /// The line about the work of the agent in the body; empty if it does nothing.
    pub work: Rect,
    /// Main's text, or the zoomed agent's.
    pub transcript: Rect,
    pub panel: Option<Panel>,
    /// Rows of background agents and commands.
    pub background: Rect,
    pub queue: Rect,
    pub rule: Rect,
    pub prompt: Rect,
    pub hint: Rect,
    pub status: Rect,
    /// Width at which prose wraps: that of the text beside panes, while they are open.
    pub prose: u16,
    /// Under 80 wide or 20 high.
    pub small: bool,
}

impl ScreenLayout {
    /// Computes the layout.
    pub fn new(needs: LayoutInput) -> Self {
        let (width, height) = (needs.width, needs.height);
        let small = is_small(width, height);
        let tiny = is_tiny(width, height);
        let nothing_else = width < 20 || height < 5;
        let has_status = !small || needs.own_status && !tiny && height >= OWN_STATUS_HEIGHT;
        let under = if tiny { 0 } else { 2 + u16::from(has_status) };
        let most = if nothing_else { height } else { (height / 3).max(1) };
        let prompt = needs.prompt.clamp(1, MAX_PROMPT_LINES).min(most);
        let queue = if tiny { 0 } else { needs.queued.min(MAX_QUEUE_LINES).min(height / 5) };
        let background = u16::try_from(needs.background).unwrap_or(u16::MAX);
        let free = if needs.agents == 0 || needs.zoom { height / BACKGROUND_PART } else { 0 };
        let background = if tiny { 0 } else { background.min(free.max(MAX_BACKGROUND_ROWS)) };
        let kind = panel_kind(needs, small);
        // A blank line sets the work off from text, where there is room.
        let roomy = height >= 30 || needs.agents == 0 || needs.zoom;
        let work = match needs.work && !small {
            true => 1 + u16::from(roomy),
            false => 0,
        };
        let below = prompt + under + queue + background + work;
        let body_height = if nothing_else { 0 } else { height.saturating_sub(below) };
        let body = Rect::new(0, 0, width, body_height);

        let mut y = body_height + work.saturating_sub(1);
        let mut take = |lines: u16| {
            let area = Rect::new(0, y, width, lines.min(height.saturating_sub(y)));
            y += area.height;
            area
        };
        let work = take(work.min(1));
        let background = take(background);
        let queue = take(queue);
        let rule = take(u16::from(!tiny));
        let prompt = take(if nothing_else { height } else { prompt });
        let hint = take(u16::from(!tiny));
        let status = take(u16::from(has_status));

        let agents = u16::try_from(needs.agents).unwrap_or(u16::MAX);
        let slots = slots(agents, body_height.saturating_sub(1), width >= 160);
        let right = right_width(width, slots.map_or(1, |(columns, _)| columns));
        let beside = kind == PaneLayout::Right && needs.agents > 0;
        let open_width = if beside { width - right - 1 } else { width };
        let mut layout = Self {
            body,
            transcript: body,
            panel: None,
            work,
            background,
            queue,
            rule,
            prompt,
            hint,
            status,
            prose: open_width.min(MAX_PROSE_WIDTH),
            small,
        };
        if needs.agents > 0 && !needs.zoom && !tiny {
            layout.place_panel(kind, needs, right);
        }
        layout
    }

    fn place_panel(&mut self, kind: PaneLayout, needs: LayoutInput, right: u16) {
        let agents = u16::try_from(needs.agents).unwrap_or(u16::MAX);
        let body = self.body;
        match kind {
            PaneLayout::Right => {
                let outer = Rect::new(body.width - right, 0, right, body.height);
                let inner = Rect::new(outer.x + 2, 0, outer.width - 2, body.height);
                let room = body.height.saturating_sub(1);
                let Some((columns, slot)) = slots(agents, room, body.width >= 160) else {
                    return self.place_lines(agents, needs);
                };
                self.transcript.width = body.width - right - 1;
                self.panel = Some(Panel {
                    area: Rect::new(inner.x, 1, inner.width, room),
                    header: Some(Rect::new(inner.x, 0, inner.width, 1)),
                    note: None,
                    right: true,
                    columns,
                    slot,
                    open: None,
                    asker: false,
                });
            }
            PaneLayout::Below => {
                let most = (body.height / 2).max(2);
                let Some((_, slot)) = slots(agents, most - 1, false) else {
                    return self.place_lines(agents, needs);
                };
                let room = most - 1;
                let top = body.height - room - 1;
                self.transcript.height = top;
                self.panel = Some(Panel {
                    area: Rect::new(0, top + 1, body.width, room),
                    header: Some(Rect::new(0, top, body.width, 1)),
                    note: None,
                    right: false,
                    columns: 1,
                    slot,
                    open: None,
                    asker: false,
                });
            }
            PaneLayout::Rows | PaneLayout::Auto => {
                let rows = agents.min(body.height / 2);
                self.transcript.height = body.height - rows;
                let area = Rect::new(0, body.height - rows, body.width, rows);
                self.panel = Some(Panel {
                    area,
                    header: None,
                    note: None,
                    right: false,
                    columns: 1,
                    slot: 1,
                    open: None,
                    asker: false,
                });
            }
        }
    }

    /// Places one line per agent below the transcript, in as few columns as half the body allows, and
    /// below them the pane of the focused agent. If they do not fit or have several columns, a line above
    /// them names those in trouble; as the panel grows upwards, nothing else moves when it comes.
    fn place_lines(&mut self, agents: u16, needs: LayoutInput) {
        let body = self.body;
        let open = if needs.focused { OPEN_LINES.min(body.height / 3) } else { 0 };
        let open = open.saturating_sub(u16::from(body.height < ROOMY_LINES));
        let gap = u16::from(open > 0);
        let most = body.height.saturating_sub(MIN_TRANSCRIPT_LINES + 2 + open + gap).max(1);
        let good = body.height.div_ceil(2).clamp(1, most);
        let widest = (body.width / LINE_WIDTH).max(1);
        let columns = (1..widest).find(|columns| agents.div_ceil(*columns) <= good);
        let columns = columns.unwrap_or(widest);
        let rows = agents.div_ceil(columns).min(most);
        let all_fit = agents <= rows.saturating_mul(columns);
        let note = u16::from(!all_fit || needs.trouble && columns > 1);
        let top = body.height.saturating_sub(rows + 1 + note + gap + open);
        self.transcript.height = top;
        let grid = Rect::new(0, top + 1 + note, body.width, rows);
        let open_area = Rect::new(0, grid.bottom() + gap, body.width, open);
        self.panel = Some(Panel {
            area: grid.intersection(body),
            header: Some(Rect::new(0, top, body.width, 1)),
            note: (note > 0).then_some(Rect::new(0, top + 1, body.width, 1)),
            right: false,
            columns,
            slot: 1,
            open: Some(open_area).filter(|area| area.height > 0),
            asker: false,
        });
    }

    /// Lines above a question that covers the panel: its header, and one for each agent, if they are few,
    /// or what led to the question; without a panel, only that. On a small screen, the header alone.
    pub fn lines_above_question(&self, agents: usize) -> u16 {
        let lines = u16::try_from(agents + 1).unwrap_or(u16::MAX);
        let part = self.body.height / AGENTS_PART;
        match self.panel {
            Some(_) if self.small => 1,
            None if self.small => 0,
            Some(panel) if panel.right => lines.max(2 + LEAD_LINES).min(part),
            Some(_) => {
                let most = part.max(LINES_ABOVE.min(self.body.height / 3));
                lines.saturating_add(LEAD_LINES).min(most)
            }
            None => LEAD_LINES,
        }
    }

    /// Whether agents stand below the transcript. A question goes below their lines then, so that it does
    /// not change places with them.
    pub fn has_agents_below(&self) -> bool {
        self.panel.is_some_and(|panel| !panel.right)
    }

    /// Whether the body is so low that a question below agents has one place, as high as the room there.
    pub fn is_low(&self) -> bool {
        self.body.height < ROOMY_LINES
    }

    /// Whether a question covers all that led to it.
    pub fn leaves_no_lead(&self, question: Rect) -> bool {
        let below = self.panel.is_some_and(|panel| !panel.right) && !self.small;
        // The header of the panel and one line of agents.
        question.y < self.body.y + LEAD_LINES + if below { 2 } else { 0 }
    }

    /// Moves a panel that a question covers to what is left above that, so that each agent keeps a line, and
    /// the last lines of what led to the question stay: those of the agent that asks, if it is in the panel,
    /// else main's. Returns whether it did.
    pub fn move_panel_above(&mut self, question: Rect, agents: usize, asker: bool) -> bool {
        let Some(panel) = self.panel else { return false };
        if !panel.open.unwrap_or(panel.area).union(panel.area).intersects(question) {
            return false;
        }
        let agents = u16::try_from(agents).unwrap_or(u16::MAX);
        let least = u16::from(!self.small);
        let Some(room) = question.y.checked_sub(1).filter(|room| *room >= least) else {
            self.panel = None;
            return false;
        };
        if self.small {
            let area = Rect { height: 0, ..panel.area };
            let header = Some(Rect { y: question.y - 1, height: 1, ..panel.area });
            self.panel = Some(Panel { area, header, open: None, ..panel });
            return true;
        }
        let slots = slots(agents, room, self.body.width >= 160).filter(|_| panel.right);
        let (columns, slot, rows, note) = match slots {
            Some((columns, slot)) => (columns, slot, room, 0),
            None => {
                let widest = (panel.area.width / LINE_WIDTH).max(1);
                let needed = agents.div_ceil(widest);
                // A line of each agent comes before what led to the question; of many, one line
                // counts those that do not fit.
                let spare = room.checked_sub(needed).unwrap_or(room.saturating_sub(2));
                let lead = if panel.right { 0 } else { LEAD_LINES.min(spare) };
                let left = room - lead;
                let columns = (1..widest).find(|columns| agents.div_ceil(*columns) <= left);
                let columns = columns.unwrap_or(widest);
                let rows = agents.div_ceil(columns);
                // The header counts them too.
                let note = u16::from(rows > left && (left > 1 || panel.right));
                (columns, 1, rows.min(left - note), note)
            }
        };
        let rest = if panel.right { 0 } else { room - note - rows };
        // On a low screen, the lines of agents have one place, whoever asks.
        let led = if asker || self.is_low() { rest.min(LEAD_LINES) } else { 0 };
        let open = if asker { led } else { 0 };
        let top = rest - led;
        let line = |y: u16| Rect { y, height: 1, ..panel.area };
        self.panel = Some(Panel {
            area: Rect { y: top + 1 + note, height: rows, ..panel.area },
            header: Some(line(top)),
            note: (note > 0).then(|| line(top + 1)),
            columns,
            slot,
            open: (open > 0).then_some(Rect { y: question.y - open, height: open, ..panel.area }),
            asker,
            ..panel
        });
        true
    }

    /// Ends the transcript above a question, so that its last lines stay in view: they led to the
    /// question. `moved` says that a panel stands between them; without room above that, the transcript
    /// takes what is left below it.
    pub fn end_transcript_above(&mut self, question: Rect, moved: bool) {
        let panel = self.panel.filter(|panel| moved && !panel.right);
        let rows = panel.and_then(|panel| panel.header);
        if rows.is_none() && !question.intersects(self.transcript) {
            return;
        }
        let left = panel.filter(|panel| panel.open.is_none());
        let left = left.map_or(0, |panel| question.y.saturating_sub(panel.area.bottom()));
        if left > 0 {
            self.transcript.y = question.y - left;
            self.transcript.height = left;
            return;
        }
        let end = rows.map_or(question.y, |rows| rows.y);
        let room = end.saturating_sub(self.transcript.y);
        let gap = u16::from(rows.is_none() && room >= MIN_GAP_LINES);
        self.transcript.height = self.transcript.height.min(room - gap);
    }
}

/// The position of the agents: from the settings, else by size.
fn panel_kind(needs: LayoutInput, small: bool) -> PaneLayout {
    let fits = |kind: PaneLayout| match kind {
        PaneLayout::Right => needs.width >= 80,
        PaneLayout::Below => needs.height >= 12,
        _ => true,
    };
    match needs.panes {
        PaneLayout::Auto if small => PaneLayout::Rows,
        PaneLayout::Auto if needs.width < 100 => PaneLayout::Below,
        PaneLayout::Auto => PaneLayout::Right,
        chosen if fits(chosen) => chosen,
        _ => PaneLayout::Rows,
    }
}

/// The width of a panel on the right, with the line before it. Two columns need more for their tasks.
fn right_width(width: u16, columns: u16) -> u16 {
    match width {
        160.. if columns > 1 => width * 3 / 5,
        160.. => width / 2,
        _ => width * 42 / 100 + 2,
    }
}

/// Columns, and lines of a pane; `None` if each agent would get fewer than 2.
fn slots(agents: u16, room: u16, wide: bool) -> Option<(u16, u16)> {
    let one = room / agents.max(1);
    if wide && one < SPLIT_SLOT_LINES && agents > 1 {
        let two = room / agents.div_ceil(2);
        return (two >= 2).then_some((2, two));
    }
    (one >= 2).then_some((1, one))
}

/// Whether a screen is too small for the usual status line and a line about the work.
pub fn is_small(width: u16, height: u16) -> bool {
    width < 80 || height < 20
}

/// Whether a screen is too small for a panel of agents.
pub fn is_tiny(width: u16, height: u16) -> bool {
    width < 40 || height < 8
}

#[cfg(test)]
mod tests;
