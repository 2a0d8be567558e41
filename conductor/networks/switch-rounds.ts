import { setTimeout as sleep } from 'node:timers/promises';
import { planSwitchports } from '#conductor/networks/plan-switchports.ts';
import { isSet, type SwitchConnection, type SwitchPortSetting } from '#conductor/networks/switch-driver.ts';
import { overdueTimers } from '#shared/clock.ts';
import { AppError, isRetryable } from '#shared/errors/app-error.ts';

/**
 * Runs the work when nobody else, in whichever conductor, changes the switch. Its signal is the caller's, and aborts with a
 * retryable error, too, once that is no longer certain.
 */
export type OneWriter = <Result>(
  switchId: string,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<Result>,
) => Promise<Result>;

/**
 * One switch's changes, in rounds: what is asked for while a round is under way goes together in the next one, in one login
 * and one commit.
 */
export interface SwitchRounds {
  /**
   * Plan, apply, read back: a switch that says yes and does nothing must not end in a deploy that looks well. A request
   * that is given up leaves the round that has not begun; when all of a round are, it stops.
   * @throws AppError what the driver throws; another node's port that the switch refuses is not a fault of this one.
   */
  move(desired: readonly SwitchPortSetting[], signal?: AbortSignal): Promise<void>;
}

interface Request {
  readonly desired: readonly SwitchPortSetting[];
  readonly signal: AbortSignal | undefined;
  readonly settle: (error?: unknown) => void;
}

/** Nodes that move for one reason come within a moment. Milliseconds. */
const gatherMs = 5;

export function createSwitchRounds(switchId: string, connection: SwitchConnection, oneWriter: OneWriter): SwitchRounds {
  const state: { waiting: Request[]; isRunning: boolean } = { waiting: [], isRunning: false };
  const runRounds = async (): Promise<void> => {
    await sleep(gatherMs);
    while (state.waiting.length > 0) {
      const { round, rest } = compatible(state.waiting);
      state.waiting = rest;
      const wanted = round.filter(({ signal, settle }) => {
        if (signal?.aborted) settle(givenUp(signal));
        return !signal?.aborted;
      });
      if (wanted.length > 0) await runRound(switchId, connection, oneWriter, wanted);
    }
    state.isRunning = false;
  };
  return {
    move: (desired, signal) =>
      new Promise((resolve, reject) => {
        const settle = (error?: unknown): void => (error === undefined ? resolve() : reject(error));
        state.waiting.push({ desired, signal, settle });
        if (state.isRunning) return;
        state.isRunning = true;
        void runRounds();
      }),
  };
}

/**
 * Parts the requests that can go together from those that want different things of one port: these go one after the
 * other.
 */
function compatible(waiting: readonly Request[]): { readonly round: Request[]; readonly rest: Request[] } {
  const taken = new Map<string, SwitchPortSetting>();
  const keys = ({ portId, bond }: SwitchPortSetting): string[] => [portId, ...(bond ? [`bond ${bond.number}`] : [])];
  const fits = ({ desired }: Request): boolean =>
    desired.every((setting) => keys(setting).every((key) => !taken.has(key) || isSet(taken.get(key), setting)));
  const round: Request[] = [];
  const rest: Request[] = [];
  for (const request of waiting) {
    (fits(request) ? round : rest).push(request);
    // what comes later must not overtake either
    for (const setting of request.desired)
      for (const key of keys(setting)) if (!taken.has(key)) taken.set(key, setting);
  }
  return { round, rest };
}

async function runRound(
  switchId: string,
  connection: SwitchConnection,
  oneWriter: OneWriter,
  round: readonly Request[],
): Promise<void> {
  const stopping = new AbortController();
  const onAbort = (): void => {
    if (round.every(({ signal }) => signal?.aborted)) stopping.abort(round[0]?.signal?.reason);
  };
  for (const { signal } of round) signal?.addEventListener('abort', onAbort, { once: true });
  try {
    await oneWriter(switchId, stopping.signal, (signal) => runTogether(switchId, connection, round, signal));
  } catch (error) {
    for (const { settle } of round) settle(error);
  } finally {
    for (const { signal } of round) signal?.removeEventListener('abort', onAbort);
  }
}

/** All at once; when the switch refuses, in halves, until the one that it refuses is alone. */
async function runTogether(
  switchId: string,
  connection: SwitchConnection,
  round: readonly Request[],
  signal: AbortSignal,
): Promise<void> {
  try {
    await moveAndProve(
      switchId,
      connection,
      round.flatMap(({ desired }) => desired),
      signal,
    );
    for (const { settle } of round) settle();
  } catch (error) {
    if (round.length === 1 || isRetryable(error) || signal.aborted) {
      for (const { settle } of round) settle(isRetryable(signal.reason) ? signal.reason : error);
      return;
    }
    const middle = Math.ceil(round.length / 2);
    await runTogether(switchId, connection, round.slice(0, middle), signal);
    await runTogether(switchId, connection, round.slice(middle), signal);
  }
}

async function moveAndProve(
  switchId: string,
  connection: SwitchConnection,
  desired: readonly SwitchPortSetting[],
  signal: AbortSignal,
): Promise<void> {
  const portIds = [...new Set(desired.map(({ portId }) => portId))];
  const settings = planSwitchports(desired, await connection.readPorts(portIds, signal));
  if (settings.length === 0) return connection.save?.(desired, signal);
  await overdueTimers();
  signal.throwIfAborted();
  await connection.apply(settings, signal);
  const left = planSwitchports(desired, await connection.readPorts(portIds, signal));
  if (left.length > 0) {
    const ports = left.map(({ portId }) => portId).join(', ');
    throw new AppError('switch_error', `switch ${switchId} did not move ${ports}`);
  }
}

function givenUp(signal: AbortSignal): AppError {
  return new AppError('aborted', 'the move of switch ports was stopped', { cause: signal.reason });
}
