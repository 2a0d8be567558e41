import { randomUUID } from 'node:crypto';
import { AgentFault, toCommandError } from '#agent/commands/agent-fault.ts';
import type { CommandDefinition, CommandServices } from '#agent/commands/command.ts';
import { parseParams } from '#agent/commands/command.ts';
import { type CommandTable, findCommand } from '#agent/commands/command-table.ts';
import { formatDuration } from '#agent/say.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import type { CommandResult, CommandStatus } from '#shared/wire/agent-calls.ts';

interface Entry {
  result: CommandResult;
  readonly ended: Promise<void>;
}

/**
 * Runs commands, one asynchronous one at a time, and keeps their results in memory until the agent ends
 * (agent-protocol.md §4).
 */
export class CommandRunner {
  readonly #table: CommandTable;
  readonly #services: CommandServices;
  readonly #onAsyncEnd: (commandId: string) => void;
  readonly #entries = new Map<string, Entry>();
  /** The start of the command before: starts come one after the other, so that two can't both find the agent free. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(
    table: CommandTable,
    services: CommandServices,
    /** An asynchronous command has ended, and its result can be asked for. */
    onAsyncEnd: (commandId: string) => void,
  ) {
    this.#table = table;
    this.#services = services;
    this.#onAsyncEnd = onAsyncEnd;
  }

  /** All results, oldest first. */
  list(): readonly CommandResult[] {
    return [...this.#entries.values()].map(({ result }) => result);
  }

  /** @throws AgentFault `RequestedObjectNotFoundError` */
  get(id: string): CommandResult {
    return this.#entry(id).result;
  }

  /** The result once the command has ended. @throws AgentFault `RequestedObjectNotFoundError` */
  async wait(id: string): Promise<CommandResult> {
    const entry = this.#entry(id);
    await entry.ended;
    return entry.result;
  }

  /**
   * Starts `<extension>.<command>`. A synchronous one has ended when this resolves, an asynchronous one has begun. A
   * repeated request with the id of a known command (`params.step.baton_command_id`) gets that command, started or
   * ended.
   * @throws AgentFault for an unknown name, bad parameters, or while a command runs beside which this one can't.
   */
  async start(name: string, params: Readonly<Record<string, unknown>>): Promise<CommandResult> {
    const turn = this.#turn.then(() => this.#startInTurn(name, params));
    this.#turn = turn.catch(() => undefined); // the caller sees the failure; the next one only waits
    return turn;
  }

  /** Resolves when no command runs any more: after the services' signal has aborted, so that what they started is gone. */
  async idle(): Promise<void> {
    await this.#turn;
    await Promise.all([...this.#entries.values()].map(({ ended }) => ended));
  }

  async #startInTurn(name: string, params: Readonly<Record<string, unknown>>): Promise<CommandResult> {
    const { command, definition } = findCommand(this.#table, name);
    const wantedId = givenId(params);
    const known = wantedId === undefined ? undefined : this.#entries.get(wantedId);
    if (known) {
      if (known.result.command_name === command) return known.result;
      throw new AgentFault(
        'InvalidCommandParamsError',
        `step.baton_command_id: ${wantedId} is the id of an earlier ${known.result.command_name}`,
      );
    }
    const running = [...this.#entries.values()].find(({ result }) => result.command_status === 'RUNNING');
    if (running && !definition.whileBusy) {
      throw new AgentFault('AgentIsBusy', `executing command ${running.result.command_name}`);
    }
    const parsed = parseParams(definition.params, params);
    const id = wantedId ?? randomUUID();
    if (definition.kind === 'sync') {
      const result = await this.#execute(id, name, command, definition, parsed);
      this.#entries.set(id, { result, ended: Promise.resolve() });
      return result;
    }
    const ended = this.#execute(id, name, command, definition, parsed).then((result) => {
      entry.result = result;
      this.#onAsyncEnd(id);
    });
    const entry: Entry = { result: report(id, command, 'RUNNING', null, null), ended };
    this.#entries.set(id, entry);
    return entry.result;
  }

  /** Runs a command to its end; never rejects. */
  async #execute(
    id: string,
    name: string,
    command: string,
    definition: CommandDefinition,
    params: unknown,
  ): Promise<CommandResult> {
    const { clock, log, say } = this.#services;
    const label = definition.label?.(params) ?? name;
    const startedAt = clock.now().getTime();
    const durationMs = (): number => clock.now().getTime() - startedAt;
    log.info({ command: name, id }, 'command started');
    if (definition.kind === 'async') say(`${label} started`);
    try {
      const value = (await definition.run(this.#services, params, id)) ?? null;
      log.info({ command: name, id, durationMs: durationMs() }, 'command ended');
      if (definition.kind === 'async') say(`${label} ended after ${formatDuration(durationMs())}`);
      return report(id, command, 'SUCCEEDED', null, resultOf(command, definition.kind, value));
    } catch (error) {
      log.error({ err: error, command: name, id, durationMs: durationMs() }, 'command failed');
      say(`${label} FAILED after ${formatDuration(durationMs())}: ${errorChain(error)}`);
      // the wire's one status for a version mismatch, whatever the kind of step
      const status =
        error instanceof AgentFault && error.type === 'VersionMismatch' ? 'CLEAN_VERSION_MISMATCH' : 'FAILED';
      return report(id, command, status, toCommandError(error), null);
    }
  }

  #entry(id: string): Entry {
    const entry = this.#entries.get(id);
    if (!entry) throw new AgentFault('RequestedObjectNotFoundError', `Command Result with id ${id} not found.`);
    return entry;
  }
}

function givenId(params: Readonly<Record<string, unknown>>): string | undefined {
  const { step } = params;
  if (typeof step !== 'object' || step === null || !('baton_command_id' in step)) return undefined;
  return typeof step.baton_command_id === 'string' ? step.baton_command_id : undefined;
}

/** Text becomes an object, as Ironic's agent does it: with the command's name before it when asynchronous. */
function resultOf(command: string, kind: CommandDefinition['kind'], value: unknown): unknown {
  if (typeof value !== 'string') return value;
  return { result: kind === 'async' ? `${command}: ${value}` : value };
}

function report(
  id: string,
  name: string,
  status: CommandStatus,
  error: CommandResult['command_error'],
  result: unknown,
): CommandResult {
  return { id, command_name: name, command_status: status, command_error: error, command_result: result };
}
