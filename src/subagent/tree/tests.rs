use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::*;
use crate::agent::Inbox;
use crate::budget::{Budget, Limits};
use crate::protocol::{
    AgentId, AgentInfo, AgentPath, AgentReport, Cost, EventQueue, RunEnd, RunOutcome, Sender,
    ToolUseId, Usage,
};
use crate::subagent::report::Completion;

struct TreeFixture {
    tree: AgentTree,
    queue: EventQueue,
    main: Inbox,
}

fn info(background: bool, number: usize) -> AgentInfo {
    AgentInfo {
        name: "explore-1".to_owned(),
        number,
        agent: "explore".to_owned(),
        description: "look".to_owned(),
        prompt: "look".to_owned(),
        model: "m".to_owned(),
        tool_use_id: ToolUseId::new("call"),
        max_turns: 20,
        max_usd: None,
        color: None,
        background,
    }
}

fn ending(end: RunEnd) -> Completion {
    let outcome = RunOutcome { text: "found".to_owned(), ..RunOutcome::without_work(end) };
    let report = AgentReport {
        agent_id: AgentId::generate(),
        name: "explore-1".to_owned(),
        number: 0,
        status: outcome.end.clone(),
        turns: 1,
        tool_uses: 0,
        usage: Usage::default(),
        cost: Cost::default(),
        duration_ms: 0,
        shown: 5,
        total: 5,
        with_parent: false,
    };
    Completion {
        outcome,
        report,
        text: "found".to_owned(),
        message: "explore-1: found".to_owned(),
        brief: "explore-1".to_owned(),
    }
}

impl TreeFixture {
    fn new(concurrent: usize, children: usize) -> Self {
        let tree = AgentTree::new(SlotLimits { concurrent, children, children_total: None });
        Self { tree, queue: EventQueue::unbounded(), main: Inbox::default() }
    }

    fn below(
        &self,
        parent: &AgentPath,
        background: bool,
        may_queue: bool,
    ) -> NewAgent<impl FnOnce(usize) -> AgentInfo + use<>> {
        NewAgent {
            info: move |number| info(background, number),
            number: None,
            events: self.queue.sink_at(parent.child(AgentId::generate())),
            report_to: self.main.clone(),
            budget: Budget::new(Limits::default()),
            may_queue,
        }
    }

    fn join(&self) -> AgentHandle {
        self.tree.join(self.below(&AgentPath::root(), false, true)).unwrap()
    }

    fn spawn(&self) -> Result<AgentHandle, LimitError> {
        self.tree.join(self.below(&AgentPath::root(), true, false))
    }
}

#[tokio::test]
async fn over_the_limit_foreground_agents_wait_in_order() {
    let fixture = TreeFixture::new(1, 5);
    let (first, second, third) = (fixture.join(), fixture.join(), fixture.join());
    assert!(first.wait_for_slot().await);
    let (mut two, mut three) = (Box::pin(second.wait_for_slot()), Box::pin(third.wait_for_slot()));
    assert!(futures_util::poll!(&mut two).is_pending());
    assert!(futures_util::poll!(&mut three).is_pending());
    first.finish(ending(RunEnd::Completed));
    assert!(two.await);
    assert!(futures_util::poll!(&mut three).is_pending());
}

#[tokio::test]
async fn cancelled_while_waiting_never_starts_and_frees_its_place() {
    let fixture = TreeFixture::new(1, 5);
    let (first, second, third) = (fixture.join(), fixture.join(), fixture.join());
    assert!(first.wait_for_slot().await);
    let mut two = Box::pin(second.wait_for_slot());
    let mut three = Box::pin(third.wait_for_slot());
    assert!(futures_util::poll!(&mut two).is_pending());
    assert!(futures_util::poll!(&mut three).is_pending());
    let cancelled = fixture.tree.cancel(second.id()).unwrap();
    assert_eq!((cancelled.success, cancelled.previous), (true, AgentStatus::Queued));
    assert!(!two.await);
    second.finish(ending(RunEnd::Cancelled { before_start: true }));
    first.finish(ending(RunEnd::Completed));
    assert!(three.await);
}

#[tokio::test]
async fn one_parent_has_its_own_limit() {
    let fixture = TreeFixture::new(8, 1);
    let (first, second) = (fixture.join(), fixture.join());
    assert!(first.wait_for_slot().await);
    assert!(futures_util::poll!(Box::pin(second.wait_for_slot())).is_pending());
}

#[tokio::test]
async fn in_the_background_a_limit_is_an_error_with_its_value_and_count() {
    let fixture = TreeFixture::new(2, 8);
    let handles = [fixture.spawn().unwrap(), fixture.spawn().unwrap()];
    let over = fixture.spawn().unwrap_err();
    assert_eq!(over, LimitError { limit: "max_concurrent_agents", value: 2, count: 2 });
    assert_eq!(fixture.tree.list(&AgentPath::root()).len(), 2, "nothing was taken in");
    let [first, second] = handles;
    first.finish(ending(RunEnd::Completed));
    let third = fixture.spawn().unwrap();
    let over = fixture.spawn().unwrap_err();
    assert_eq!((over.value, over.count), (2, 2), "the one that has ended does not count");
    drop((second, third));
    assert!(fixture.spawn().is_ok());
    let fixture = TreeFixture::new(8, 1);
    let _one = fixture.spawn().unwrap();
    assert_eq!(fixture.spawn().unwrap_err().limit, "max_children_per_agent");
}

#[tokio::test]
async fn a_parent_that_waits_lends_its_slot_and_gets_it_back_first() {
    let fixture = TreeFixture::new(1, 5);
    let parent = fixture.join();
    assert!(parent.wait_for_slot().await);
    let sink = fixture.queue.sink_at(AgentPath::root().child(parent.id()));
    let slot = fixture.tree.release_slot(sink.path());
    let child = fixture.tree.join(fixture.below(sink.path(), false, true)).unwrap();
    assert!(child.wait_for_slot().await);
    let other = fixture.join();
    let mut waits = Box::pin(other.wait_for_slot());
    assert!(futures_util::poll!(&mut waits).is_pending());
    let never = CancellationToken::new();
    let mut back = Box::pin(slot.reacquire(&sink, &never));
    assert!(futures_util::poll!(&mut back).is_pending());
    child.finish(ending(RunEnd::Completed));
    back.await;
    assert!(futures_util::poll!(&mut waits).is_pending(), "the parent goes first");
    parent.finish(ending(RunEnd::Completed));
    assert!(waits.await);
}

#[tokio::test]
async fn a_completion_is_pushed_once_or_handed_over_once() {
    let fixture = TreeFixture::new(8, 8);
    let (pushed, taken) = (fixture.spawn().unwrap(), fixture.spawn().unwrap());
    let taken_id = taken.id();
    assert_eq!(fixture.main.announced(), 2);
    pushed.finish(ending(RunEnd::Completed));
    taken.finish(ending(RunEnd::Completed));
    assert_eq!(fixture.main.announced(), 0);
    fixture.tree.mark_reported(taken_id, &fixture.main);
    fixture.tree.mark_reported(taken_id, &fixture.main);
    let read = fixture.main.take_next_step();
    assert_eq!(read.len(), 1);
    assert_eq!(read[0].from, Sender::Agent { name: "explore-1".to_owned() });
}

#[tokio::test]
async fn the_second_cancel_finds_nothing_to_do() {
    let fixture = TreeFixture::new(8, 8);
    let handle = fixture.spawn().unwrap();
    let id = handle.id();
    assert!(fixture.tree.cancel(id).unwrap().success);
    assert!(handle.cancel().is_cancelled());
    handle.finish(ending(RunEnd::Cancelled { before_start: false }));
    let again = fixture.tree.cancel(id).unwrap();
    assert_eq!((again.success, again.previous), (false, AgentStatus::Cancelled));
    assert_eq!(fixture.tree.cancel(AgentId::generate()), None);
}

#[tokio::test]
async fn a_completion_between_the_look_and_the_wait_is_not_lost() {
    let fixture = TreeFixture::new(8, 8);
    let handle = fixture.spawn().unwrap();
    let id = handle.id();
    assert_eq!(fixture.tree.look_up(id).unwrap().status(), AgentStatus::Running);
    handle.finish(ending(RunEnd::Completed));
    assert_eq!(fixture.tree.ended(id).await.unwrap().text, "found");
}

#[tokio::test]
async fn a_wait_for_the_next_run_is_not_met_by_the_last_one() {
    let fixture = TreeFixture::new(8, 8);
    let new = fixture.below(&AgentPath::root(), true, false);
    let events = new.events.clone();
    let handle = fixture.tree.join(new).unwrap();
    let id = handle.id();
    handle.finish(ending(RunEnd::Interrupted));
    let again = NewAgent { events, ..fixture.below(&AgentPath::root(), true, false) };
    let handle = fixture.tree.join(again).unwrap();
    let mut ended = Box::pin(fixture.tree.ended(id));
    assert!(futures_util::poll!(&mut ended).is_pending());
    handle.finish(ending(RunEnd::Completed));
    assert_eq!(ended.await.unwrap().outcome.end, RunEnd::Completed);
}

#[test]
fn an_agent_of_another_session_that_main_reads_of_keeps_its_name() {
    let tree = TreeFixture::new(1, 1).tree;
    tree.push_main_report(
        "explore",
        "explore-2",
        AgentId::generate(),
        "explore-2 has ended".to_owned(),
    );
    assert_eq!(tree.main_inbox().take_next_step().len(), 1);
    assert_eq!([tree.next_name("explore"), tree.next_name("plan")], ["explore-3", "plan-1"]);
}

#[tokio::test]
async fn an_agent_moves_to_the_background_once_and_not_after_its_end() {
    let fixture = TreeFixture::new(8, 8);
    let handle = fixture.join();
    let id = handle.id();
    assert!(fixture.tree.detach(id));
    assert!(handle.detached().is_cancelled());
    assert!(!fixture.tree.detach(id));
    assert_eq!(fixture.main.announced(), 1);
    handle.finish(ending(RunEnd::Completed));
    assert!(!fixture.tree.detach(id));
    assert_eq!(fixture.main.take_next_step().len(), 1);
}

#[tokio::test]
async fn an_end_is_told_to_the_call_or_to_the_parent_whichever_way_a_stop_and_a_move_cross() {
    let fixture = TreeFixture::new(8, 5);
    let (tree, cancelled) = (&fixture.tree, RunEnd::Cancelled { before_start: false });
    // Stopped first: the call waits for the end, and the parent gets no message.
    let stopped = fixture.join();
    let id = stopped.id();
    assert!(tree.cancel_waited(id, None) && !tree.detach(id));
    assert!(!stopped.detached().is_cancelled());
    stopped.finish(ending(cancelled.clone()));
    assert!(tree.ended(id).await.is_some() && fixture.main.is_empty());
    // Moved first: the call stops waiting, and it continues.
    let moved = fixture.join();
    let id = moved.id();
    assert!(tree.detach(id) && !tree.cancel_waited(id, None));
    assert!(!moved.cancel().is_cancelled());
    moved.finish(ending(RunEnd::Completed));
    assert_eq!(fixture.main.take_next_step().len(), 1);
    // An agent that ended by itself is the call's result.
    let done = fixture.join();
    let id = done.id();
    done.finish(ending(RunEnd::Completed));
    assert!(!tree.detach(id) && tree.cancel_waited(id, None) && fixture.main.is_empty());
    // Stopped with its parent, before the call has looked.
    let above = fixture.join();
    let path = AgentPath::root().child(above.id());
    let below = tree.join(fixture.below(&path, false, true)).unwrap();
    tree.cancel(above.id());
    assert!(!tree.detach(below.id()));
    below.finish(ending(cancelled.clone()));
    above.finish(ending(cancelled));
    assert!(fixture.main.is_empty());
}

/// An agent that a call waits for, and one below it that a call of its own waits for.
fn parent_and_child(fixture: &TreeFixture) -> [AgentHandle; 2] {
    let parent = fixture.join();
    let path = AgentPath::root().child(parent.id());
    let child = fixture.tree.join(fixture.below(&path, false, true)).unwrap();
    [parent, child]
}

/// Ends cancelled agents, and returns whether each was cancelled with its parent.
async fn with_parent<const N: usize>(
    fixture: &TreeFixture,
    handles: [AgentHandle; N],
) -> [bool; N] {
    let mut with_parent = [false; N];
    for (handle, with_parent) in handles.into_iter().zip(&mut with_parent) {
        assert!(handle.cancel().is_cancelled());
        let id = handle.id();
        handle.finish(ending(RunEnd::Cancelled { before_start: false }));
        *with_parent = fixture.tree.ended(id).await.unwrap().report.with_parent;
    }
    with_parent
}

#[tokio::test]
async fn a_stop_of_mains_run_cancels_agents_with_their_parents() {
    let fixture = TreeFixture::new(8, 8);
    let [parent, child] = parent_and_child(&fixture);
    assert!(fixture.tree.cancel_waited(parent.id(), None));
    // Its own call finds the child cancelled.
    assert!(fixture.tree.cancel_waited(child.id(), None));
    assert_eq!(with_parent(&fixture, [parent, child]).await, [true, true]);
}

#[tokio::test]
async fn a_stop_of_the_turn_cancels_what_main_waits_for_and_nothing_else() {
    let fixture = TreeFixture::new(8, 8);
    let ([parent, child], aside) = (parent_and_child(&fixture), fixture.spawn().unwrap());
    let path = AgentPath::root().child(aside.id());
    let below = fixture.tree.join(fixture.below(&path, false, true)).unwrap();
    let run = CancellationToken::new();
    fixture.tree.cancel_main_run(&run);
    assert!(run.is_cancelled());
    assert!(!aside.cancel().is_cancelled() && !below.cancel().is_cancelled());
    assert_eq!(with_parent(&fixture, [parent, child]).await, [true, true]);
}

#[tokio::test]
async fn the_end_of_the_program_cancels_waited_agents_with_their_parents() {
    let fixture = TreeFixture::new(8, 8);
    let ([parent, child], aside) = (parent_and_child(&fixture), fixture.spawn().unwrap());
    let path = AgentPath::root().child(aside.id());
    let below = fixture.tree.join(fixture.below(&path, false, true)).unwrap();
    let alone = fixture.join();
    fixture.tree.cancel(alone.id());
    let done = fixture.join();
    let done_id = done.id();
    done.finish(ending(RunEnd::Completed));
    assert!(fixture.tree.end_all(Duration::from_secs(10)).await);
    assert!(fixture.tree.cancel_waited(parent.id(), None));
    assert!(fixture.tree.cancel_waited(alone.id(), None));
    let handles = [parent, child, aside, below, alone];
    assert_eq!(with_parent(&fixture, handles).await, [true, true, false, true, false]);
    assert!(!fixture.tree.ended(done_id).await.unwrap().report.with_parent);
}

#[tokio::test]
async fn an_agent_that_was_cancelled_alone_stays_so_when_main_is_stopped_after_that() {
    let fixture = TreeFixture::new(8, 8);
    let [parent, child] = parent_and_child(&fixture);
    assert!(fixture.tree.cancel(parent.id()).unwrap().success);
    assert!(fixture.tree.cancel_waited(parent.id(), None));
    assert_eq!(with_parent(&fixture, [parent, child]).await, [false, true]);
}

#[tokio::test]
async fn an_agent_whose_calls_time_is_over_has_reached_that_limit() {
    let fixture = TreeFixture::new(8, 8);
    let ([parent, child], alone) = (parent_and_child(&fixture), fixture.join());
    let time_up = |handle: &AgentHandle| {
        fixture.tree.lock().entries[&handle.id()].budget.as_ref().unwrap().time_up()
    };
    let (limit, later) = (Duration::from_secs(9), Duration::from_secs(10));
    assert!(fixture.tree.cancel_waited(parent.id(), Some(limit)));
    // Its own call, and one of an agent that was cancelled alone, come too late.
    assert!(fixture.tree.cancel_waited(child.id(), Some(later)));
    fixture.tree.cancel(alone.id());
    assert!(fixture.tree.cancel_waited(alone.id(), Some(limit)));
    assert_eq!([&parent, &child, &alone].map(time_up), [Some(limit), None, None]);
    assert_eq!(with_parent(&fixture, [parent, child, alone]).await, [false, true, false]);
}

#[tokio::test]
async fn an_agent_that_ends_by_itself_while_it_is_stopped_was_not_cancelled() {
    let fixture = TreeFixture::new(8, 8);
    let handle = fixture.join();
    let id = handle.id();
    assert!(fixture.tree.cancel_waited(id, None));
    handle.finish(ending(RunEnd::Completed));
    assert!(!fixture.tree.ended(id).await.unwrap().report.with_parent);
}

#[tokio::test]
async fn an_agent_that_is_lost_ends_as_an_internal_failure_and_frees_its_slot() {
    let fixture = TreeFixture::new(1, 1);
    let handle = fixture.join();
    let id = handle.id();
    assert!(handle.wait_for_slot().await);
    drop(handle);
    let ended = fixture.tree.ended(id).await.unwrap();
    assert!(matches!(
        ended.outcome.end,
        RunEnd::Failed { failure: crate::protocol::Failure::Internal, .. }
    ));
    assert!(fixture.join().wait_for_slot().await);
}

#[tokio::test]
async fn the_end_of_all_cancels_every_level_and_waits_for_it() {
    let fixture = TreeFixture::new(8, 8);
    let handle = fixture.spawn().unwrap();
    let path = AgentPath::root().child(handle.id());
    let child = fixture.tree.join(fixture.below(&path, true, false)).unwrap();
    for handle in [handle, child] {
        fixture.tree.spawn(async move {
            handle.cancel().cancelled().await;
            handle.finish(ending(RunEnd::Cancelled { before_start: false }));
        });
    }
    assert!(fixture.tree.end_all(Duration::from_secs(10)).await);
    let list = fixture.tree.list(&AgentPath::root());
    assert_eq!(StatusCounts::count(&list).cancelled_count, 2);
}

#[tokio::test]
async fn ended_agents_are_kept_up_to_a_number() {
    let fixture = TreeFixture::new(8, 8);
    let first = fixture.join();
    let first_id = first.id();
    first.finish(ending(RunEnd::Completed));
    for _ in 0..256 {
        fixture.join().finish(ending(RunEnd::Completed));
    }
    assert!(fixture.tree.look_up(first_id).is_none());
    assert_eq!(fixture.tree.list(&AgentPath::root()).len(), 256);
}

mod jobs {
    use super::*;
    use crate::exec::{CommandExit, ShellState};
    use crate::protocol::ShellId;
    use crate::tool::ShellRegister;

    const FAILED: ShellState = ShellState::Exited(CommandExit::Code(1));

    fn ends(fixture: &TreeFixture, owner: &AgentPath, end: ShellState) -> ShellId {
        let id = ShellId::from_number(1);
        fixture.tree.notify_end(owner, &id, "npm run dev\nwait", end);
        id
    }

    #[test]
    fn the_end_of_a_command_is_told_to_its_owner_with_the_next_step() {
        let fixture = TreeFixture::new(1, 1);
        ends(&fixture, &AgentPath::root(), FAILED);
        let told = fixture.tree.main_inbox().take_next_step();
        let text =
            "[bash-1 (npm run dev …) has ended: exit code 1. BashOutput shows what it printed.]";
        assert_eq!(told.iter().map(|told| told.text.as_str()).collect::<Vec<_>>(), [text]);
        assert_eq!(told[0].from, Sender::Job { name: "bash-1".to_owned() });
    }

    #[test]
    fn what_its_owner_has_read_or_somebody_has_killed_is_not_told() {
        let (fixture, root) = (TreeFixture::new(1, 1), AgentPath::root());
        let id = ends(&fixture, &root, FAILED);
        fixture.tree.mark_end_read(&id);
        ends(&fixture, &root, ShellState::Killed);
        assert!(fixture.tree.main_inbox().take_next_step().is_empty());
    }

    #[tokio::test]
    async fn a_sub_agent_is_told_as_long_as_it_lives() {
        let fixture = TreeFixture::new(1, 1);
        let handle = fixture.join();
        let path = fixture.tree.look_up(handle.id()).unwrap().path;
        ends(&fixture, &path, FAILED);
        assert_eq!(handle.inbox().take_next_step().len(), 1);
        let inbox = handle.inbox().clone();
        handle.finish(ending(RunEnd::Completed));
        ends(&fixture, &path, FAILED);
        assert!(inbox.take_next_step().is_empty());
        assert!(fixture.tree.main_inbox().take_next_step().is_empty());
    }
}

#[tokio::test]
async fn one_that_goes_on_lives_although_the_one_above_it_was_cancelled() {
    let fixture = TreeFixture::new(4, 4);
    let above = fixture.join();
    let path = fixture.tree.look_up(above.id()).unwrap().path;
    fixture.tree.cancel(above.id());
    above.finish(ending(RunEnd::Cancelled { before_start: false }));
    let below = fixture.tree.join(fixture.below(&path, true, false)).unwrap();
    assert!(!below.cancel().is_cancelled());
}

#[tokio::test]
async fn the_partial_text_of_an_agent_that_the_user_cancelled_wakes_nobody() {
    let fixture = TreeFixture::new(8, 8);
    let (by_user, by_itself) = (fixture.spawn().unwrap(), fixture.spawn().unwrap());
    fixture.tree.cancel_for_user(by_user.id());
    by_user.finish(ending(RunEnd::Cancelled { before_start: false }));
    assert!(!fixture.main.is_empty());
    assert_eq!(fixture.main.take_first_waking(), None);
    by_itself.finish(ending(RunEnd::Completed));
    assert!(fixture.main.take_first_waking().is_some());
    assert_eq!(fixture.main.take_next_step().len(), 1);
}

#[tokio::test]
async fn an_agent_has_a_number_of_its_own_for_the_whole_session() {
    let fixture = TreeFixture::new(5, 5);
    let (first, second) = (fixture.join(), fixture.join());
    assert_eq!((first.info().number, second.info().number), (1, 2));
    second.finish(ending(RunEnd::Completed));
    let mut again = fixture.below(&AgentPath::root(), true, true);
    again.number = Some(2);
    let again = fixture.tree.join(again).unwrap();
    assert_eq!(again.info().number, 2, "a resumed one keeps it");
    // A session in which there were more.
    fixture.tree.continue_numbers(7, 0);
    assert_eq!(fixture.join().info().number, 8);
}
