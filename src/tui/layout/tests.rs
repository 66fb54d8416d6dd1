use super::*;

fn panel(width: u16, height: u16, agents: usize) -> (ScreenLayout, Panel) {
    let layout = ScreenLayout::new(LayoutInput {
        width,
        height,
        agents,
        prompt: 1,
        ..LayoutInput::default()
    });
    (layout, layout.panel.unwrap())
}

#[test]
fn a_small_screen_has_three_lines_under_the_body_and_rows_in_at_most_half_of_it() {
    let (layout, three) = panel(60, 15, 3);
    assert_eq!(15 - layout.body.height, 3);
    assert_eq!((three.area.height, three.slot), (3, 1));
    assert_eq!(panel(60, 15, 12).1.area.height, 6);
}

#[test]
fn a_small_screen_has_a_status_line_if_it_is_the_users_own() {
    let status = |width, height, own_status| {
        let needs = LayoutInput { width, height, prompt: 1, own_status, ..LayoutInput::default() };
        ScreenLayout::new(needs).status.height
    };
    for (width, height, usual, own) in
        [(80, 20, 1, 1), (60, 15, 0, 1), (100, 12, 0, 1), (100, 11, 0, 0), (39, 24, 0, 0)]
    {
        assert_eq!((status(width, height, false), status(width, height, true)), (usual, own));
    }
}

#[test]
fn at_80x24_the_panel_stands_below_and_takes_at_most_half() {
    let (layout, three) = panel(80, 24, 3);
    assert_eq!(24 - layout.body.height, 4);
    assert_eq!((three.slot, three.area.height, layout.transcript.height), (3, 9, 10));
    assert_eq!(panel(80, 24, 1).1.slot, 9);
    let (_, twelve) = panel(80, 24, 12);
    assert_eq!((twelve.slot, twelve.columns, twelve.area.height), (1, 2, 6));
    assert!((4..=8).all(|agents| panel(80, 24, agents).1.area.height <= 9));
}

#[test]
fn at_120x40_the_panel_stands_right() {
    let (layout, three) = panel(120, 40, 3);
    assert_eq!((three.area.width, three.slot, layout.transcript.width), (50, 11, 67));
    assert_eq!(panel(120, 40, 1).1.slot, 35);
    assert_eq!(panel(120, 40, 12).1.slot, 2);
    let (layout, many) = panel(120, 40, 32);
    assert_eq!((many.slot, many.columns, many.area.height), (1, 2, 16));
    assert_eq!((layout.transcript.width, layout.transcript.height), (120, 19));
}

#[test]
fn panes_fill_the_height_of_their_column() {
    for (width, height, agents) in [(120, 40, 12), (160, 45, 8), (160, 45, 7), (220, 60, 3)] {
        let (_, panel) = panel(width, height, agents);
        let areas = panel.slot_areas(&vec![None; agents]);
        for (at, area) in areas.iter().enumerate() {
            assert!(area.height == panel.slot || area.height > 2, "{area:?}");
            let below = areas.get(at + 1).filter(|next| next.x == area.x);
            assert_eq!(below.map_or(panel.area.bottom(), |next| next.y), area.bottom());
        }
    }
}

#[test]
fn small_panes_leave_their_room_to_the_others_of_their_column() {
    let heights = |panel: &Panel, small: &[Option<u16>]| {
        let areas = panel.slot_areas(small);
        assert_eq!(areas.last().unwrap().bottom(), panel.area.bottom());
        areas.iter().map(|area| area.height).collect::<Vec<_>>()
    };
    let (_, three) = panel(120, 40, 3);
    assert_eq!(heights(&three, &[None; 3]), [11, 12, 12]);
    assert_eq!(heights(&three, &[Some(3), None, None]), [3, 16, 16]);
    assert_eq!(heights(&three, &[Some(3), None, Some(3)]), [3, 29, 3]);
    assert_eq!(heights(&three, &[Some(3); 3]), [11, 12, 12]);
    let (_, ten) = panel(160, 45, 10);
    let small = [Some(3), None, None, None, None, Some(3), Some(3), Some(3), Some(3), Some(3)];
    assert_eq!(heights(&ten, &small)[..5], [3, 9, 9, 9, 10]);
}

#[test]
fn the_focused_agent_of_a_grid_opens_below_it() {
    for (width, height, agents) in [(80, 24, 8), (120, 40, 32), (120, 40, 100), (80, 24, 100)] {
        let focused = LayoutInput {
            width,
            height,
            agents,
            focused: true,
            prompt: 1,
            ..LayoutInput::default()
        };
        let layout = ScreenLayout::new(focused);
        let panel = layout.panel.unwrap();
        let open = panel.open.unwrap();
        assert_eq!((open.y, open.bottom()), (panel.area.bottom() + 1, layout.body.bottom()));
        assert!(layout.transcript.height >= MIN_TRANSCRIPT_LINES && open.height >= 5);
    }
}

#[test]
fn the_background_has_two_rows_or_a_fifth_between_body_and_queue() {
    for (width, height) in [(60, 15), (80, 24), (120, 40), (200, 60)] {
        let needs = LayoutInput { width, height, prompt: 1, queued: 1, ..LayoutInput::default() };
        let without = ScreenLayout::new(needs);
        for (background, rows) in [(1, 1), (2, 2), (70, height / 5)] {
            let layout = ScreenLayout::new(LayoutInput { background, ..needs });
            assert_eq!(layout.background.height, rows);
            assert_eq!(layout.background.y, layout.body.height);
            assert_eq!(layout.queue.y, layout.background.bottom());
            assert_eq!(layout.body.height, without.body.height - rows);
        }
    }
    let panes = LayoutInput {
        width: 120,
        height: 40,
        prompt: 1,
        agents: 3,
        background: 7,
        ..LayoutInput::default()
    };
    assert_eq!(ScreenLayout::new(panes).background.height, 2);
    assert_eq!(ScreenLayout::new(LayoutInput { agents: 0, ..panes }).background.height, 7);
    let tiny =
        LayoutInput { width: 39, height: 10, prompt: 1, background: 2, ..LayoutInput::default() };
    assert_eq!(ScreenLayout::new(tiny).background.height, 0);
}

#[test]
fn at_200x60_many_agents_get_two_columns() {
    let (layout, three) = panel(200, 60, 3);
    assert_eq!((three.slot, three.columns, layout.transcript.width), (18, 1, 99));
    let (_, twelve) = panel(200, 60, 12);
    assert_eq!((twelve.slot, twelve.columns), (9, 2));
    let (_, many) = panel(200, 60, 32);
    assert_eq!((many.slot, many.columns), (3, 2));
}

#[test]
fn at_160x45_panes_keep_room_for_their_tasks() {
    let (layout, six) = panel(160, 45, 6);
    assert_eq!((six.columns, six.column_width(), layout.transcript.width), (1, 78, 79));
    let (layout, nine) = panel(160, 45, 9);
    assert_eq!((nine.columns, nine.column_width(), layout.transcript.width), (2, 45, 63));
}

#[test]
fn prose_is_narrow_while_panes_stand_beside_it() {
    let needs = LayoutInput { width: 120, height: 40, prompt: 1, ..LayoutInput::default() };
    let closed = ScreenLayout::new(needs);
    assert_eq!((closed.prose, closed.transcript.width), (100, 120));
    let open = ScreenLayout::new(LayoutInput { agents: 3, ..needs });
    assert_eq!((open.prose, open.transcript.width), (67, 67));
}

#[test]
fn a_line_about_the_work_stands_between_body_and_background() {
    let needs = LayoutInput {
        width: 120,
        height: 40,
        prompt: 1,
        background: 1,
        work: true,
        ..LayoutInput::default()
    };
    let layout = ScreenLayout::new(needs);
    assert_eq!((layout.work.y, layout.work.height), (layout.body.height + 1, 1));
    assert_eq!(layout.background.y, layout.work.bottom());
    let small = ScreenLayout::new(LayoutInput { width: 60, height: 15, ..needs });
    assert_eq!(small.work.height, 0);
}

#[test]
fn the_tiniest_screens_keep_the_prompt() {
    let small = ScreenLayout::new(LayoutInput {
        width: 39,
        height: 10,
        prompt: 1,
        agents: 3,
        ..LayoutInput::default()
    });
    assert_eq!((small.rule.height, small.prompt.height, small.transcript.height), (0, 1, 9));
    let least = ScreenLayout::new(LayoutInput {
        width: 19,
        height: 5,
        prompt: 1,
        ..LayoutInput::default()
    });
    assert_eq!((least.transcript.height, least.prompt.height), (0, 5));
}
