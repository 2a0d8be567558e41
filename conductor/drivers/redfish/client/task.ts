import { z } from 'zod';
import { stoppedError } from '#conductor/drivers/call-deadline.ts';
import type { RedfishClient } from '#conductor/drivers/redfish/client/client.ts';
import { httpStatusOf } from '#conductor/drivers/redfish/client/errors.ts';
import { isWithoutContent, saysNothing } from '#conductor/drivers/redfish/client/message-meaning.ts';
import { barePath, ownPath } from '#conductor/drivers/redfish/client/own-path.ts';
import { Reference, Task } from '#conductor/drivers/redfish/client/schemas.ts';
import { isOpen, lookAtAnswer, lookAtTask, type TaskLook } from '#conductor/drivers/redfish/client/task-states.ts';
import type { RedfishAnswer } from '#conductor/drivers/redfish/client/transport.ts';
import type { Clock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';

const firstPollMs = 50;
const pollMs = 1000;
/** Milliseconds of answers without a word of a task in them, after which a place that never had one is none. */
const wordlessMs = 10_000;

interface FollowOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Milliseconds that a task may be pending until it is left to the next reset; default: it is followed to its end. */
  readonly leavePendingAfterMs?: number;
  /** The caller looks at what the task makes: a BMC that has forgotten it is no error. */
  readonly isLookedAt?: boolean;
}

/**
 * Follows the task of an accepted request to its end; any other answer is at its end already. A 202 that names no monitor
 * can't be followed: the caller's own confirmation has to do.
 * @returns whether the end was seen; not so of a task that was left pending, that the BMC has forgotten, or that was none
 * @throws AppError `bmc_error` when the task failed, or when the BMC has forgotten it and the caller doesn't look itself
 */
export async function finishTask(
  client: RedfishClient,
  answer: RedfishAnswer,
  what: string,
  options: FollowOptions,
): Promise<boolean> {
  const { clock, signal, leavePendingAfterMs = Number.POSITIVE_INFINITY } = options;
  let look = lookAtAnswer(answer);
  let monitor = monitorOf(answer, client.origin);
  let hasWord = Boolean(Task.safeParse(answer.body).data?.TaskState);
  let pendingMs = 0;
  let unclearMs = 0;
  for (let waitMs = firstPollMs; monitor !== undefined && isOpen(look); waitMs = Math.min(waitMs * 2, pollMs)) {
    pendingMs = look.state === 'pending' ? pendingMs : 0;
    if (look.state === 'pending' && pendingMs >= leavePendingAfterMs) return false;
    await clock.sleep(waitMs, signal).catch(() => {
      throw stoppedError(signal, `${what} (task ${monitor})`);
    });
    pendingMs += waitMs;
    const next = await lookAgain(client, monitor, signal);
    if (next === undefined) continue;
    if (next === 'lost') {
      if (options.isLookedAt) return false;
      throw new AppError(
        'bmc_error',
        `${what}: the BMC has forgotten its task ${monitor}, so that nothing shows its end`,
      );
    }
    const later = lookAtTask(next, isResult(next, answer, client.origin));
    unclearMs = later.state === 'unclear' ? unclearMs + waitMs : 0;
    // what has never been a task may be none
    if (unclearMs >= wordlessMs && options.isLookedAt && !hasWord) return false;
    if (later.state === 'unclear') continue;
    look = later;
    hasWord = true;
    monitor = monitorOf(next, client.origin) ?? monitor;
  }
  throwIfFailed(look, what);
  return !isOpen(look);
}

/**
 * Judges whether a monitor's answer is, or names, the resource that a request has made, below the path it went to, or has
 * changed: that itself, or the one that has the action.
 */
function isResult(next: RedfishAnswer, { asked }: RedfishAnswer, origin: string): boolean {
  const place = barePath((asked ?? '').replace(/\/Actions\/.*$/, ''));
  const { '@odata.id': link, error } = Resource.safeParse(next.body).data ?? {};
  const made = next.status === 201 && next.body === undefined ? next.headers['location'] : link;
  const path = made === undefined || error !== undefined ? undefined : ownPath(made, origin);
  if (place === '' || path === undefined || isWithoutContent(next.body)) return false;
  return `${barePath(path)}/`.startsWith(`${place}/`);
}

const Resource = Reference.extend({ error: z.unknown().optional() });

/**
 * Looks at the task of an accepted request: for work that the BMC takes up at the next reset, where the end can't be awaited
 * but a failure may be known at once. Answers whether it has ended; `lost` = the BMC has forgotten it already; `none` = for
 * seconds the place that it named has answered nothing that a task would. One that does not answer at all is `open`.
 * @throws AppError `bmc_error` when the task failed already
 */
export async function peekTask(
  client: RedfishClient,
  answer: RedfishAnswer,
  what: string,
  { clock, signal }: Pick<FollowOptions, 'clock' | 'signal'>,
): Promise<'ended' | 'open' | 'lost' | 'none'> {
  const look = lookAtAnswer(answer);
  throwIfFailed(look, what);
  if (!isOpen(look)) return 'ended';
  const monitor = monitorOf(answer, client.origin);
  if (monitor === undefined) return 'open';
  const hasWord = Boolean(Task.safeParse(answer.body).data?.TaskState);
  let unclearMs = 0;
  for (let waitMs = firstPollMs; ; waitMs = Math.min(waitMs * 2, pollMs)) {
    const next = await lookAgain(client, monitor, signal);
    if (next === undefined) return 'open';
    if (next === 'lost') return 'lost';
    const later = lookAtTask(next, isResult(next, answer, client.origin));
    throwIfFailed(later, what);
    if (later.state !== 'unclear' || hasWord) return isOpen(later) ? 'open' : 'ended';
    if (unclearMs >= wordlessMs) return 'none';
    await clock.sleep(waitMs, signal).catch(() => {
      throw stoppedError(signal, `${what} (task ${monitor})`);
    });
    unclearMs += waitMs;
  }
}

/** `undefined` = the BMC has not answered now, or its web server has in its place: only the task's own word is its end. */
async function lookAgain(
  client: RedfishClient,
  monitor: string,
  signal: AbortSignal,
): Promise<RedfishAnswer | 'lost' | undefined> {
  try {
    return await readTask(client, monitor, signal);
  } catch (error) {
    if (signal.aborted) throw error;
    return undefined;
  }
}

/**
 * Lists where the job of one of Dell's tasks is: iDRACs of before 7.10.30 delete a task seconds after its end, but not its
 * job (https://github.com/dell/iDRAC-Redfish-Scripting/issues/275).
 */
function jobPaths(path: string): readonly string[] {
  const id = /\/(JID_\d+)\/?(\?.*)?$/.exec(path)?.[1];
  if (id === undefined) return [];
  const places = [`/redfish/v1/JobService/Jobs/${id}`, `/redfish/v1/Managers/iDRAC.Embedded.1/Oem/Dell/Jobs/${id}`];
  return places.filter((place) => place !== path);
}

/**
 * Reads a task or its monitor, or Dell's job of one that is gone. `lost`: HPE deletes a task's monitor when it ends, and a
 * BMC that has restarted knows none.
 * @throws AppError `unavailable` for an answer with nothing in it: it does not say that the task is gone, either
 */
export async function readTask(
  client: RedfishClient,
  path: string,
  signal: AbortSignal,
): Promise<RedfishAnswer | 'lost'> {
  let answer = await readTaskAt(client, path, signal);
  for (const place of jobPaths(path)) {
    if (answer !== 'lost') break;
    answer = await readTaskAt(client, place, signal);
  }
  return answer;
}

async function readTaskAt(client: RedfishClient, path: string, signal: AbortSignal): Promise<RedfishAnswer | 'lost'> {
  try {
    const answer = await client.request({ method: 'GET', path, signal });
    if (answer.status === 200 && saysNothing(answer.body)) {
      const what = `GET ${client.origin}${path} answered 200 with nothing about the task`;
      throw new AppError('unavailable', what, { details: { sent: true } });
    }
    return answer;
  } catch (error) {
    if (httpStatusOf(error) === 404 || httpStatusOf(error) === 410) return 'lost';
    throw error;
  }
}

/** The path and query of the task, or of its monitor, that an answer names; `undefined` for one that is no task's. */
export function monitorOf(answer: RedfishAnswer, origin: string): string | undefined {
  const { data } = Task.safeParse(answer.body);
  if (answer.status !== 202 && !data?.TaskState) return undefined;
  const place = answer.headers['location'] ?? data?.TaskMonitor ?? data?.['@odata.id'];
  return place ? ownPath(place, origin) : undefined;
}

/** @throws AppError `bmc_error` for a task that failed, with its messages. */
export function throwIfFailed(look: TaskLook, what: string): void {
  if (look.state === 'failed') throw new AppError('bmc_error', `${what}: ${look.why}`);
}
