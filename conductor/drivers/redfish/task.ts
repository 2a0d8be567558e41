import { stoppedError } from '#conductor/drivers/call-deadline.ts';
import type { RedfishClient } from '#conductor/drivers/redfish/client.ts';
import { bmcMessage } from '#conductor/drivers/redfish/errors.ts';
import { Task } from '#conductor/drivers/redfish/schemas.ts';
import type { RedfishAnswer } from '#conductor/drivers/redfish/transport.ts';
import type { Clock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';

const failedStates = ['Exception', 'Killed', 'Cancelled', 'Interrupted'];
const firstPollMs = 50;
const pollMs = 1000;

/**
 * Follows the task monitor of a 202 answer to its end; any other answer is at its end already (DSP0266, asynchronous
 * operations). A 202 that names no monitor can't be followed: the caller's own confirmation has to do.
 * @throws AppError `bmc_error` when the task failed.
 */
export async function finishTask(
  client: RedfishClient,
  answer: RedfishAnswer,
  what: string,
  options: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<void> {
  let current = answer;
  let monitor = monitorOf(answer, client.origin);
  for (let waitMs = firstPollMs; current.status === 202 && monitor !== undefined; waitMs *= 2) {
    throwIfFailed(current, what);
    await options.clock.sleep(Math.min(waitMs, pollMs), options.signal).catch(() => {
      throw stoppedError(options.signal, `${what} (task ${monitor})`);
    });
    current = await client.request({ method: 'GET', path: monitor, signal: options.signal });
    monitor = monitorOf(current, client.origin) ?? monitor;
  }
  if (answer.status === 202) throwIfFailed(current, what);
}

/**
 * Looks once at the task of a 202 answer: for work that the BMC takes up at the next reset, where the end can't be
 * awaited but a failure may be known at once.
 * @throws AppError `bmc_error` when the task failed already.
 */
export async function peekTask(
  client: RedfishClient,
  answer: RedfishAnswer,
  what: string,
  signal: AbortSignal,
): Promise<void> {
  const monitor = monitorOf(answer, client.origin);
  if (answer.status !== 202 || monitor === undefined) return;
  throwIfFailed(answer, what);
  throwIfFailed(await client.request({ method: 'GET', path: monitor, signal }), what);
}

/** The path of the task monitor that a 202 answer names. */
export function monitorOf(answer: RedfishAnswer, origin: string): string | undefined {
  const task = Task.safeParse(answer.body);
  const place = answer.headers['location'] ?? (task.success ? task.data.TaskMonitor : undefined);
  return place && URL.canParse(place, origin) ? new URL(place, origin).pathname : undefined;
}

/** @throws AppError `bmc_error` for a task that failed, with its messages. */
export function throwIfFailed(answer: RedfishAnswer, what: string): void {
  const task = Task.safeParse(answer.body);
  if (!task.success || !failedStates.includes(task.data.TaskState ?? '')) return;
  const messages = (task.data.Messages ?? []).map((message) => message.Message ?? message.MessageId ?? '');
  const text = messages.filter(Boolean).join(' ') || bmcMessage(answer.body);
  throw new AppError('bmc_error', `${what}: the BMC's task ended as ${task.data.TaskState}${text ? `: ${text}` : ''}`);
}
