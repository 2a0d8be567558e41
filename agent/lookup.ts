import type { ApiAnswer, ApiClient } from '#agent/api/api-client.ts';
import { type Microversion, microversions } from '#agent/api/microversion.ts';
import { refusedLookup } from '#agent/api/refused-lookup.ts';
import type { Attester } from '#agent/attest.ts';
import type { ImagePolicy } from '#agent/image-means/image-policy.ts';
import type { Say } from '#agent/say.ts';
import type { Clock } from '#shared/clock.ts';
import { AppError, errorChain, errorCode } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';
import { type OutboundRules, parseOutboundAllowList } from '#shared/peers/outbound-url.ts';
import { backOffMs, type Random, retry } from '#shared/retry.ts';
import { bootTokenHeader, LookupAnswer } from '#shared/wire/agent-calls.ts';
import { attestationProblemHeader } from '#shared/wire/attestation.ts';

/** Answer of a lookup: who this machine is and how to talk to its conductor. */
export interface FoundNode {
  readonly uuid: string;
  readonly properties: Readonly<Record<string, unknown>>;
  readonly instanceInfo: Readonly<Record<string, unknown>>;
  readonly driverInternalInfo: Readonly<Record<string, unknown>>;
  readonly heartbeatTimeoutMs: number;
  /** `undefined`: the API is too old to have tokens. */
  readonly token: string | undefined;
  readonly imagePolicy: ImagePolicy;
  /** Set when the conductor is Baton. */
  readonly baton: { readonly progressIntervalMs: number; readonly imageNeighbours: boolean } | undefined;
  readonly apiVersion: Microversion;
}

export interface LookupDependencies {
  readonly api: ApiClient;
  /** MAC addresses of the machine's network cards, read again at each try: cards may come late. */
  readonly addresses: () => Promise<readonly string[]>;
  /** The token that this machine was booted with. */
  readonly bootToken?: string | undefined;
  readonly attester: Attester;
  /** A token that this agent already has for the node: embedded in virtual media, or kept from before a restart. */
  readonly ownToken: (nodeUuid: string) => string | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly say: Say;
  readonly signal: AbortSignal;
}

/** Random, so that a rack that was powered on together doesn't call together. */
const lookupBackOff = { firstMs: 2000, mostMs: 60_000, spread: [0, 1] } as const;
const minTokenLength = 32;
/** Extra waits while the node is locked: it will not be for long. */
const conflictWaitsMs = [5000, 10_000, 30_000] as const;

/**
 * Looks this machine up until it is found (agent-protocol.md §2.2): every failure is tried again, after a random
 * exponential time between `intervalMs` and 60 s, until `timeoutMs` has passed.
 * @throws AppError `timeout` with the last failure as its cause; the signal's reason when it aborts.
 */
export async function lookup(
  dependencies: LookupDependencies,
  limits: { readonly timeoutMs: number; readonly intervalMs: number },
): Promise<FoundNode> {
  const { clock, log, say, random, signal } = dependencies;
  const backOff = { ...lookupBackOff, leastMs: limits.intervalMs, random };
  const count = { tries: 0, conflicts: 0 };
  const conflictWaitMs = (): number => {
    count.conflicts += 1;
    return conflictWaitsMs[Math.min(count.conflicts, conflictWaitsMs.length) - 1] ?? 0;
  };
  try {
    return await retry(
      (attempt) => {
        count.tries = attempt;
        return ask(dependencies);
      },
      {
        clock,
        signal,
        withinMs: limits.timeoutMs,
        delayMs: (attempt, error) =>
          backOffMs(backOff, attempt) + (errorCode(error) === 'conflict' ? conflictWaitMs() : 0),
        onRetry: (error, attempt, waitMs) => {
          log.warn({ err: error, attempt, waitMs: Math.round(waitMs) }, 'lookup failed');
          say(`lookup try ${attempt} failed: ${errorChain(error)}; next in ${(waitMs / 1000).toFixed(1)} s`);
        },
      },
    );
  } catch (cause) {
    signal.throwIfAborted();
    throw new AppError('timeout', `look up this machine for ${limits.timeoutMs / 1000} s, ${count.tries} tries`, {
      cause,
    });
  } finally {
    await dependencies.attester.release();
  }
}

/**
 * One lookup, by the machine's TPM where it has one and the conductor attests machines.
 * @throws AppError `not_found` (no such node, or not in a state that has an agent), `conflict` (the node is locked),
 * `unavailable`, `unauthorized` (another agent has the token), `agent_error` (an answer that is none).
 */
export async function lookupOnce(dependencies: AskDependencies): Promise<FoundNode> {
  try {
    return await ask(dependencies);
  } finally {
    await dependencies.attester.release();
  }
}

type AskDependencies = Omit<LookupDependencies, 'clock' | 'random'>;

async function ask(dependencies: AskDependencies): Promise<FoundNode> {
  const { api, attester, log, say, signal } = dependencies;
  const addresses = await dependencies.addresses();
  if (addresses.length === 0) throw new AppError('not_found', 'this machine has no network card to be known by');
  const apiVersion = await api.version();
  log.info({ addresses, url: api.currentUrl() }, 'lookup');
  say(`looking up ${addresses.join(', ')} at ${api.currentUrl()}`);
  const call = {
    version: Math.min(apiVersion, microversions.lookup),
    headers: dependencies.bootToken === undefined ? {} : { [bootTokenHeader]: dependencies.bootToken },
  };
  const post = (path: string, body: unknown): Promise<ApiAnswer> =>
    api.request({ method: 'POST', path, ...call, body });
  const attested = await attester.attest({ addresses, post, signal });
  const body =
    'lookup' in attested ? attested.lookup : await askPlainly(api, addresses, withProblem(call, attested.problem));
  const parsed = LookupAnswer.safeParse(body);
  const timeoutSeconds = parsed.data?.config?.heartbeat_timeout ?? parsed.data?.heartbeat_timeout;
  if (!parsed.success || timeoutSeconds === undefined) {
    throw new AppError('agent_error', 'the lookup answer lacks node.uuid or heartbeat_timeout', {
      cause: parsed.error,
    });
  }
  return toFoundNode(parsed.data, timeoutSeconds * 1000, apiVersion, dependencies.ownToken);
}

/** Version and headers of a request. */
interface Call {
  readonly version: Microversion;
  readonly headers: Readonly<Record<string, string>>;
}

async function askPlainly(api: ApiClient, addresses: readonly string[], call: Call): Promise<unknown> {
  const query = new URLSearchParams({ addresses: addresses.join(',') }).toString();
  const answer = await api.request({ method: 'GET', path: `/v1/lookup?${query}`, ...call });
  if (answer.status !== 200) throw refusedLookup(answer, addresses);
  return answer.body;
}

/** Other conductors than Baton's ignore the header. */
function withProblem(call: Call, problem: string | undefined): Call {
  if (problem === undefined) return call;
  const text = problem
    .replaceAll(/[^\x20-\x7e]+/g, ' ')
    .slice(0, 200)
    .trim();
  return { ...call, headers: { ...call.headers, [attestationProblemHeader]: text } };
}

function toFoundNode(
  answer: LookupAnswer,
  heartbeatTimeoutMs: number,
  apiVersion: Microversion,
  ownToken: LookupDependencies['ownToken'],
): FoundNode {
  const { node, config } = answer;
  const offered = config?.agent_token ?? undefined;
  const isFresh = offered !== undefined && offered.length >= minTokenLength;
  const token = isFresh ? offered : ownToken(node.uuid);
  if (token === undefined && (offered !== undefined || config?.agent_token_required === true)) {
    throw new AppError(
      'unauthorized',
      `node ${node.uuid} is found, but its agent token was given out before and this agent does not have it; ` +
        'the machine has to be rebooted by its conductor',
    );
  }
  return {
    uuid: node.uuid,
    properties: record(node.properties),
    instanceInfo: record(node.instance_info),
    driverInternalInfo: record(node.driver_internal_info),
    heartbeatTimeoutMs,
    token,
    imagePolicy: {
      permittedFormats: config?.permitted_image_formats ?? undefined,
      runImagePrograms: config?.baton?.run_image_programs,
      fetchFrom: config?.baton?.fetch_from && readFetchRules(config.baton.fetch_from),
    },
    baton: config?.baton && {
      progressIntervalMs: config.baton.progress_interval_ms,
      imageNeighbours: config.baton.image_neighbours ?? false,
    },
    apiVersion,
  };
}

type FetchFrom = NonNullable<NonNullable<NonNullable<LookupAnswer['config']>['baton']>['fetch_from']>;

/** @throws AppError `invalid_argument`: nothing is fetched by rules that are not understood */
function readFetchRules({ allow, allow_loopback: allowLoopback }: FetchFrom): OutboundRules {
  return {
    setting: 'BATON_IMAGE_URL_ALLOW',
    allow: allow === null ? undefined : parseOutboundAllowList(allow.join(',')),
    allowLoopback,
    connectsHere: true,
  };
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
