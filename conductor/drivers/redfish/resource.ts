import type { z } from 'zod';
import { stoppedError } from '#conductor/drivers/call-deadline.ts';
import type { RedfishClient } from '#conductor/drivers/redfish/client.ts';
import { bmcMessage, httpStatusOf } from '#conductor/drivers/redfish/errors.ts';
import { Task } from '#conductor/drivers/redfish/schemas.ts';
import type { RedfishAnswer } from '#conductor/drivers/redfish/transport.ts';
import type { Clock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { describeIssues } from '#shared/errors/describe-issues.ts';

export interface Resource<T> {
  readonly path: string;
  /** From the header, else `@odata.etag`; `undefined` where the BMC gives none. */
  readonly etag: string | undefined;
  readonly data: T;
}

/** @throws AppError `bmc_error` when the answer is not the resource that `schema` describes. */
export async function readResource<T>(
  client: RedfishClient,
  path: string,
  schema: z.ZodType<T>,
  signal: AbortSignal,
): Promise<Resource<T>> {
  const answer = await client.request({ method: 'GET', path, signal });
  const parsed = schema.safeParse(answer.body);
  if (!parsed.success) {
    const faults = describeIssues(parsed.error, 'body');
    throw new AppError('bmc_error', `GET ${client.origin}${path} is not what Redfish defines: ${faults}`);
  }
  return { path, etag: etagOf(answer), data: parsed.data };
}

/**
 * PATCHes a resource with its ETag, if it has one. 412 and 428 are met as BMCs need it: read again and repeat (somebody
 * else changed the resource), then the strong form of a weak ETag, then no If-Match at all (BMCs that refuse their own
 * ETags; python-sushy does the same).
 */
export async function patchResource(
  client: RedfishClient,
  resource: Pick<Resource<unknown>, 'path' | 'etag'>,
  body: unknown,
  signal: AbortSignal,
): Promise<RedfishAnswer> {
  const { path } = resource;
  const patch = (ifMatch: string | undefined): Promise<RedfishAnswer> =>
    client.request({
      method: 'PATCH',
      path,
      body,
      signal,
      ...(ifMatch === undefined ? {} : { headers: { 'if-match': ifMatch } }),
    });
  const tried = new Set<string | undefined>();
  let next: { readonly ifMatch: string | undefined } | undefined = { ifMatch: resource.etag };
  let fresh: string | undefined;
  for (;;) {
    tried.add(next.ifMatch);
    try {
      return await patch(next.ifMatch);
    } catch (error) {
      const status = httpStatusOf(error);
      if (status !== 412 && status !== 428) throw error;
      fresh ??= etagOf(await client.request({ method: 'GET', path, signal }));
      const candidates = [fresh, strong(fresh), undefined].map((ifMatch) => ({ ifMatch }));
      next = candidates.find(({ ifMatch }) => !tried.has(ifMatch));
      if (!next) throw error;
    }
  }
}

function etagOf(answer: RedfishAnswer): string | undefined {
  const inBody = (answer.body as { '@odata.etag'?: unknown } | undefined)?.['@odata.etag'];
  const etag = answer.headers['etag'] ?? inBody;
  return typeof etag === 'string' && etag !== '' ? etag : undefined;
}

function strong(etag: string | undefined): string | undefined {
  return etag?.startsWith('W/') ? etag.slice(2) : etag;
}

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
