import { z } from 'zod';
import { type ApiAnswer, createApiClient } from '#agent/api/api-client.ts';
import { faultText } from '#agent/api/fault-text.ts';
import type { Clock } from '#shared/clock.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';
import { backOffMs, type Random, retry } from '#shared/retry.ts';

export interface ReportTarget {
  /** `ipa-inspection-callback-url` */
  readonly url: string;
  readonly insecure: boolean;
  readonly requestTimeoutMs: number;
  readonly globalRequestId: string | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly signal: AbortSignal;
}

const attempts = 5;
const backOff = { firstMs: 2000, leastMs: 5000, mostMs: 30_000, spread: [0, 1] } as const;
const Accepted = z.looseObject({ uuid: z.string().optional(), node: z.looseObject({ uuid: z.string() }).optional() });

/**
 * Posts the report, without an API version as ironic-python-agent does; five tries, 5 to 30 s apart, while nobody
 * answers, the node is locked or the server fails. Answers the node's UUID, if the server tells it.
 * @throws AppError `unavailable`, `agent_error` when it is refused.
 */
export async function sendReport(report: unknown, target: ReportTarget): Promise<string | undefined> {
  const { clock, random, log, signal } = target;
  const url = new URL(target.url);
  const api = createApiClient({ ...target, urls: [url.origin] });
  try {
    const request = { method: 'POST', path: `${url.pathname}${url.search}`, body: report } as const;
    return await retry(async () => readAnswer(target.url, await api.request(request)), {
      clock,
      signal,
      attempts,
      passes: (error) => errorCode(error) === 'unavailable',
      delayMs: (attempt) => backOffMs({ ...backOff, random }, attempt),
      onRetry: (error, attempt, waitMs) =>
        log.warn({ err: error, attempt, waitMs: Math.round(waitMs) }, 'inspection report not accepted yet'),
    });
  } finally {
    await api.close();
  }
}

function readAnswer(url: string, answer: ApiAnswer): string | undefined {
  if (answer.status >= 200 && answer.status < 300) {
    const { data } = Accepted.safeParse(answer.body);
    return data?.uuid ?? data?.node?.uuid;
  }
  const passes = answer.status === 409 || answer.status >= 500;
  throw new AppError(
    passes ? 'unavailable' : 'agent_error',
    `send the inspection report to ${url}: ${faultText(answer)}`,
  );
}
