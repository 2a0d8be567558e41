import type { CommandResult } from '#shared/wire/agent-calls.ts';

/**
 * Finds the command that runs a flow step: by its id; from a real ironic-python-agent, which makes up its own ids, by the
 * step that it repeats in its result. A command that runs or has failed repeats nothing: there the last one of that name is
 * meant, since an agent runs one command at a time and a failure ends the flow. Commands that run no step
 * (`install_bootloader`, `prepare_image`) are known by name only. An agent's list begins with its boot, which may be an
 * earlier flow's: fast track takes over none that has such commands in its list (`isTraceless`).
 */
export function findCommand(
  commands: readonly CommandResult[],
  stepUuid: string,
  name: string,
): CommandResult | undefined {
  const bareName = name.slice(name.indexOf('.') + 1);
  const last = commands.findLast((command) => command.command_name === bareName);
  return (
    ownCommand(commands, stepUuid) ??
    (last && (!runsStep(bareName) || last.command_status !== 'SUCCEEDED') ? last : undefined)
  );
}

/**
 * Returns whether the agent says that a flow step has ended. An agent that knows nothing of it says nothing: one that was
 * started again may have forgotten what a disk is still at.
 */
export function hasEnded(commands: readonly CommandResult[], stepUuid: string): boolean {
  const isOver = ({ command_status: status }: CommandResult): boolean => status !== 'RUNNING';
  const own = ownCommand(commands, stepUuid);
  if (own) return isOver(own);
  return commands.some(({ command_name: name }) => runsStep(name)) && commands.every(isOver);
}

function ownCommand(commands: readonly CommandResult[], stepUuid: string): CommandResult | undefined {
  return (
    commands.find((command) => command.id === stepUuid) ??
    commands.findLast((command) => repeatsStep(command.command_result, stepUuid))
  );
}

function runsStep(bareName: string): boolean {
  return bareName.startsWith('execute_');
}

function repeatsStep(result: unknown, uuid: string): boolean {
  if (typeof result !== 'object' || result === null) return false;
  return Object.values(result).some(
    (value: unknown) => typeof value === 'object' && value !== null && Reflect.get(value, 'baton_command_id') === uuid,
  );
}
