"""The Claude Agent SDK for Python drives caliban: python tour.py PATH-OF-CALIBAN"""

import asyncio
import os
import sys
import tempfile

from claude_agent_sdk import (
    AgentDefinition, AssistantMessage, ClaudeAgentOptions, ClaudeSDKClient, HookMatcher,
    PermissionResultAllow, PermissionResultDeny, ResultMessage, StreamEvent,
    TaskNotificationMessage, TaskStartedMessage, TextBlock, ToolUseBlock, create_sdk_mcp_server,
    query, tool,
)

from model import Model, call, text

CALIBAN = os.path.abspath(sys.argv[1])
HOME = tempfile.mkdtemp()


def options(model, **more):
    """What every part needs: which program to drive, and where its model is."""
    env = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "none", "CALIBAN_HOME": HOME}
    cwd = more.pop("cwd", None) or tempfile.mkdtemp()
    return ClaudeAgentOptions(cli_path=CALIBAN, cwd=cwd, env=env, model="claude-sonnet-5", **more)


def show(message):
    """One line for what a person would like to see."""
    match message:
        case AssistantMessage(content=blocks, parent_tool_use_id=parent):
            who = "sub-agent" if parent else "main"
            for block in blocks:
                match block:
                    case TextBlock(text=words):
                        print(f"  {who}: {words}")
                    case ToolUseBlock(name=name, input=given):
                        print(f"  {who} calls {name} {given}")
        case TaskStartedMessage(description=about):
            print(f"  a task begins: {about}")
        case TaskNotificationMessage(status=status):
            print(f"  a task ends: {status}")
        case ResultMessage(subtype=subtype, num_turns=turns):
            print(f"  result: {subtype}, {turns} turns")


async def turn(client, prompt):
    print(f"> {prompt}")
    await client.query(prompt)
    async for message in client.receive_response():
        show(message)
        yield message


async def say(client, prompt):
    async for _ in turn(client, prompt):
        pass


async def a_query_with_an_agent():
    model = Model({
        "Ask": [[call("Agent", subagent_type="scout", description="look around", prompt="Scout it")],
                [text("The scout says: all quiet.")]],
        "Scout": [[text("All quiet.")]],
    })
    scout = AgentDefinition(description="Looks around.", prompt="You look around.", tools=["Read"])
    chosen = options(model, agents={"scout": scout}, forward_subagent_text=True)
    async for message in query(prompt="Ask the scout.", options=chosen):
        show(message)


async def several_turns_with_a_permission_callback():
    model = Model({
        "Make": [[call("Bash", command="touch one.txt", description="make a file")],
                 [text("Made.")]],
        "Change": [[call("Bash", command="rm -rf build", description="clean up")],
                   [text("It became something harmless.")]],
        "Never": [[call("Bash", command="touch three.txt", description="make a file")],
                  [text("It was not allowed.")]],
    })

    async def decide(name, given, context):
        print(f"  asked for {name}: {given['command']} ({context.decision_reason})")
        if "rm" in given["command"]:
            return PermissionResultAllow(updated_input={**given, "command": "touch two.txt"})
        if "three" in given["command"]:
            return PermissionResultDeny(message="not three")
        return PermissionResultAllow()

    chosen = options(model, can_use_tool=decide)
    async with ClaudeSDKClient(chosen) as client:
        for prompt in ["Make one file.", "Change it.", "Never mind."]:
            await say(client, prompt)
    print("  files:", *sorted(os.listdir(chosen.cwd)))


async def hooks():
    model = Model({
        "Clean": [[call("Bash", command="rm -rf build", description="clean up"),
                   call("Bash", command="echo clean", description="say so")],
                  [text("Half of it was done.")]],
    })

    async def before(given, tool_use_id, context):
        command = given["tool_input"]["command"]
        print(f"  {given['hook_event_name']}: {command}")
        decision = "deny" if command.startswith("rm") else "allow"
        return {"hookSpecificOutput": {
            "hookEventName": "PreToolUse", "permissionDecision": decision,
            "permissionDecisionReason": "nothing is removed here",
        }}

    async def other(given, tool_use_id, context):
        print(f"  {given['hook_event_name']}")
        return {}

    chosen = options(model, hooks={
        "PreToolUse": [HookMatcher(matcher="Bash", hooks=[before])],
        "PostToolUse": [HookMatcher(hooks=[other])],
        "UserPromptSubmit": [HookMatcher(hooks=[other])],
        "Stop": [HookMatcher(hooks=[other])],
    })
    async for message in query(prompt="Clean up.", options=chosen):
        show(message)


async def tools_that_live_in_the_program():
    model = Model({
        "Add": [[call("mcp__calc__add", a=2, b=3)], [text("Five.")]],
    })

    @tool("add", "Adds two numbers.", {"a": float, "b": float})
    async def add(given):
        print(f"  add was called with {given}")
        return {"content": [{"type": "text", "text": str(given["a"] + given["b"])}]}

    calc = create_sdk_mcp_server("calc", tools=[add])
    chosen = options(model, mcp_servers={"calc": calc}, allowed_tools=["mcp__calc__add"])
    async with ClaudeSDKClient(chosen) as client:
        await say(client, "Add two and three.")
        for server in (await client.get_mcp_status())["mcpServers"]:
            print(f"  server {server['name']}: {server['status']}")


async def interrupt_mode_model_and_state():
    model = Model({
        "Sleep": [[call("Bash", command="sleep 600", description="wait")]],
        "Write": [[call("Write", file_path="note.txt", content="hello")], [text("Written.")]],
        "Think": [[text("By another model.")]],
        "Send": [[call("Agent", subagent_type="general-purpose", description="wait long",
                       prompt="Wait for ever")], [text("It was stopped.")]],
        "Wait": [[text("Waiting "), "hold"]],
    })
    async with ClaudeSDKClient(options(model, allowed_tools=["Bash(sleep:*)"])) as client:
        async for message in turn(client, "Sleep for long."):
            if isinstance(message, AssistantMessage):
                await client.interrupt()
        await client.set_permission_mode("acceptEdits")
        await say(client, "Write a note.")
        await client.set_model("claude-opus-4-8")
        await say(client, "Think about it.")
        await client.set_model(None)
        print("  models:", *model.models[-2:])
        usage = await client.get_context_usage()
        print(f"  window: {usage['totalTokens']} of {usage['maxTokens']} tokens")
        async for message in turn(client, "Send somebody."):
            if isinstance(message, TaskStartedMessage):
                await client.stop_task(message.task_id)
        for refused in [client.rewind_files("u1"), client.set_permission_mode("auto")]:
            try:
                await refused
            except Exception as error:
                print("  refused:", str(error).split(":")[0])


async def pieces_of_an_answer():
    model = Model({"Say": [[text("one two three")]]})
    chosen = options(model, include_partial_messages=True)
    async for message in query(prompt="Say something.", options=chosen):
        if isinstance(message, StreamEvent):
            event = message.event
            print(f"  {event['type']} {event.get('delta', '')}".rstrip())


async def resume_and_fork():
    model = Model({
        "Begin": [[text("Begun.")]], "Go": [[text("Gone on.")]], "Fork": [[text("Forked.")]],
    })
    cwd, sessions = tempfile.mkdtemp(), {}

    async def ask(prompt, **more):
        async for message in query(prompt=prompt, options=options(model, cwd=cwd, **more)):
            if isinstance(message, ResultMessage):
                number = sessions.setdefault(message.session_id, len(sessions) + 1)
                print(f"  {message.result} (session {number})")

    await ask("Begin here.")
    first = next(iter(sessions))
    await ask("Go on.", resume=first)
    await ask("Fork it.", resume=first, fork_session=True)


async def main():
    for part in [a_query_with_an_agent, several_turns_with_a_permission_callback, hooks,
                 tools_that_live_in_the_program, interrupt_mode_model_and_state,
                 pieces_of_an_answer, resume_and_fork]:
        print(part.__name__.replace("_", " "))
        await part()


asyncio.run(main())
